"""An installed fusec in a temporary folder, moved after it was installed: nothing may depend on the first place."""
import os
import pathlib
import shutil
import subprocess
import tempfile


class Package:
    """Installs the build, or one component of it, on entry and removes everything on exit."""

    def __init__(self, build, component=None):
        self.build = build
        self.component = ["--component", component] if component else []

    def __enter__(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="fusec-package-"))
        run(["cmake", "--install", str(self.build), "--prefix", str(self.root / "first"), *self.component])
        (self.root / "first").rename(self.root / "fusec")
        self.prefix = self.root / "fusec"
        self.work = self.root / "work"
        self.work.mkdir()
        self.environment = dict(
            os.environ,
            FUSEC=str(self.prefix),
            PATH=f"{self.prefix / 'bin'}:{os.environ['PATH']}",
            XDG_CACHE_HOME=str(self.root / "cache"),
        )
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.root)


def run(words, **options):
    """The output of a command, both streams together; an error shows it."""
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, words))}: code {done.returncode}\n{done.stdout}")
    return done.stdout
