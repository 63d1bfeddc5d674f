// SPDX-License-Identifier: Apache-2.0
// Colour maps that look even to the eye and stay ordered without colour: polynomial fits of viridis and inferno, and grey.
import * as THREE from "three";

type Polynomial = [number, number, number][];

const VIRIDIS: Polynomial = [
    [0.2777273272234177, 0.005407344544966578, 0.3340998053353061],
    [0.1050930431085774, 1.404613529898575, 1.384590162594685],
    [-0.3308618287255563, 0.214847559468213, 0.09509516302823659],
    [-4.634230498983486, -5.799100973351585, -19.33244095627987],
    [6.228269936347081, 14.17993336680509, 56.69055260068105],
    [4.776384997670288, -13.74514537774601, -65.35303263337234],
    [-5.435455855934631, 4.645852612178535, 26.3124352495832],
];
const INFERNO: Polynomial = [
    [0.0002189403691192265, 0.001651004631001012, -0.01948089843709184],
    [0.1065134194856116, 0.5639564367884091, 3.932712388889277],
    [11.60249308247187, -3.972853965665698, -15.9423941062914],
    [-41.70399613139459, 17.43639888205313, 44.35414519872813],
    [77.162935699427, -33.40235894210092, -81.80730925738993],
    [-71.31942824499214, 32.62606426397723, 73.20951985803202],
    [25.13112622477341, -12.24266895238567, -23.07032500287172],
];

export type MapName = "viridis" | "inferno" | "grey";
export const MAPS: [MapName, string][] = [["viridis", "Viridis"], ["inferno", "Inferno"], ["grey", "Grey"]];

// The ends of inferno are black and white, which bodies and background are not told from; those of grey as well.
const ENDS: Record<MapName, [number, number]> = { viridis: [0, 1], inferno: [0.12, 0.95], grey: [0.15, 0.95] };

const evaluate = (map: Polynomial, t: number, channel: number): number => {
    let value = 0;
    for (let k = map.length - 1; k >= 0; k--) value = value * t + map[k][channel];
    return Math.min(1, Math.max(0, value));
};

/// 256 colours of a map, as bytes (sRGB).
export function table(name: MapName): Uint8Array {
    const [from, to] = ENDS[name];
    const bytes = new Uint8Array(4 * 256);
    for (let i = 0; i < 256; i++) {
        const t = from + ((to - from) * i) / 255;
        for (let c = 0; c < 3; c++) bytes[4 * i + c] = Math.round(255 * (name === "grey" ? t : evaluate(name === "inferno" ? INFERNO : VIRIDIS, t, c)));
        bytes[4 * i + 3] = 255;
    }
    return bytes;
}

export function colourTexture(name: MapName): THREE.DataTexture {
    const made = new THREE.DataTexture(table(name), 256, 1, THREE.RGBAFormat, THREE.UnsignedByteType);
    made.colorSpace = THREE.SRGBColorSpace;
    made.minFilter = made.magFilter = THREE.LinearFilter;
    made.needsUpdate = true;
    return made;
}

/// The same as a CSS gradient, lowest at the left.
export function gradient(name: MapName): string {
    const bytes = table(name);
    const stops: string[] = [];
    for (let i = 0; i <= 255; i += 17) stops.push(`rgb(${bytes[4 * i]} ${bytes[4 * i + 1]} ${bytes[4 * i + 2]})`);
    return `linear-gradient(to right, ${stops.join(", ")})`;
}
