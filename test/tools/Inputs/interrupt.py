# Runs a command, sends it SIGINT as soon as it has written something, and reports how it ended.
import signal
import subprocess
import sys

child = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, bufsize=0)
child.stdout.read(1)
child.send_signal(signal.SIGINT)
rest = child.stdout.read()
print(f"code {child.wait()}, line {'ended' if rest.endswith(bytes([10])) else 'open'}")
