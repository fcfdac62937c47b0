// Numbers as the page shows them.

const whole = new Intl.NumberFormat("en", {maximumFractionDigits: 0});
const tenths = new Intl.NumberFormat("en", {minimumFractionDigits: 1, maximumFractionDigits: 1});
const nothing = "\u2013";

export const count = (value) => whole.format(value);
export const perSecond = (value) => (value < 100 ? tenths : whole).format(value);
export const share = (part, all) => all > 0 ? `${tenths.format(part / all * 100)} %` : nothing;

// Three digits that count, in the unit that suits.
export function duration(seconds) {
  if (seconds === null || seconds === undefined)
    return nothing;
  return seconds < 1 ? `${Number((seconds * 1000).toPrecision(3))} ms` : `${Number(seconds.toPrecision(3))} s`;
}
