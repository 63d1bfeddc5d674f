// SPDX-License-Identifier: Apache-2.0
// The server speaks SI. People read millimetres and kilopascals.

export interface Shown {
    unit: string;
    factor: number; ///< shown = SI × factor
    digits: number;
}

const shown: Record<string, Shown> = {
    m: { unit: "mm", factor: 1e3, digits: 2 },
    "m^3": { unit: "mL", factor: 1e6, digits: 2 },
    Pa: { unit: "kPa", factor: 1e-3, digits: 2 },
    rad: { unit: "°", factor: 180 / Math.PI, digits: 1 },
    N: { unit: "N", factor: 1, digits: 2 },
    "N m": { unit: "N·m", factor: 1, digits: 4 },
    s: { unit: "ms", factor: 1e3, digits: 2 },
    "rad/s": { unit: "°/s", factor: 180 / Math.PI, digits: 1 },
    "m/s": { unit: "mm/s", factor: 1e3, digits: 1 },
};

/// Metres and radians as they are, instead of millimetres and degrees.
let plain = false;
const PLAIN = ["m", "rad", "m/s", "rad/s", "N m"];
export const setPlain = (on: boolean): void => void (plain = on);

export const show = (unit: string): Shown => (plain && PLAIN.includes(unit) ? { unit: unit.replace(" ", "·"), factor: 1, digits: 4 } : shown[unit]) ?? { unit: unit.replace("^3", "³"), factor: 1, digits: 3 };

/// A value with its unit, e.g. "12.40 mm"; a dash where there is none.
export function format(value: number | null | undefined, unit: string): string {
    if (value === null || value === undefined || !Number.isFinite(value)) return "–";
    const as = show(unit);
    const text = (value * as.factor).toFixed(as.digits);
    return `${/^-0\.?0*$/.test(text) ? text.slice(1) : text}${as.unit === "°" ? "" : " "}${as.unit}`;
}

const prefixes: [number, string][] = [
    [1e9, "G"],
    [1e6, "M"],
    [1e3, "k"],
    [1, ""],
    [1e-3, "m"],
    [1e-6, "µ"],
];

/// Prefix of a whole scale, from its largest value: legends keep one unit from end to end.
export function scaleOf(most: number, unit: string): { factor: number; unit: string } {
    if (unit === "" || !(most > 0)) return { factor: 1, unit };
    for (const [size, prefix] of prefixes) if (most >= size) return { factor: 1 / size, unit: prefix + unit };
    return { factor: 1e6, unit: `µ${unit}` };
}

/// Three significant digits, without exponents where they can be avoided.
export function brief(value: number): string {
    if (value === 0) return "0";
    const size = Math.abs(value);
    if (size >= 1e5 || size < 1e-3) return value.toExponential(1);
    return value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3);
}

/// The next number of the form 1, 2, 5 × 10^n that is not smaller.
export function nice(value: number): number {
    if (!(value > 0) || !Number.isFinite(value)) return 1;
    const decade = 10 ** Math.floor(Math.log10(value));
    for (const step of [1, 2, 5, 10]) if (value <= step * decade * (1 + 1e-9)) return step * decade;
    return 10 * decade;
}
