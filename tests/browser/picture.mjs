// SPDX-License-Identifier: Apache-2.0
// Pictures compared as an eye would from afar: averaged down, then by colour.
import { PNG } from "./harness.mjs";

/// Averages a picture down to a size, so that edges and letters of one pixel do not count.
export function shrink(from, width, height) {
    const to = new PNG({ width, height });
    for (let y = 0; y < height; y++)
        for (let x = 0; x < width; x++) {
            const x0 = Math.floor((x * from.width) / width), x1 = Math.max(x0 + 1, Math.floor(((x + 1) * from.width) / width));
            const y0 = Math.floor((y * from.height) / height), y1 = Math.max(y0 + 1, Math.floor(((y + 1) * from.height) / height));
            const sum = [0, 0, 0];
            for (let j = y0; j < y1; j++)
                for (let i = x0; i < x1; i++) for (let c = 0; c < 3; c++) sum[c] += from.data[4 * (j * from.width + i) + c];
            const area = (x1 - x0) * (y1 - y0);
            for (let c = 0; c < 3; c++) to.data[4 * (y * width + x) + c] = Math.round(sum[c] / area);
            to.data[4 * (y * width + x) + 3] = 255;
        }
    return to;
}

/// Mean difference of the channels, of 255, and the part of pixels with a channel off by more than 40.
export function difference(a, b) {
    if (a.width !== b.width || a.height !== b.height) return { mean: 255, far: 1 };
    let sum = 0, far = 0;
    const pixels = a.width * a.height;
    for (let p = 0; p < pixels; p++) {
        let most = 0;
        for (let c = 0; c < 3; c++) {
            const d = Math.abs(a.data[4 * p + c] - b.data[4 * p + c]);
            sum += d;
            most = Math.max(most, d);
        }
        if (most > 40) far++;
    }
    return { mean: sum / (3 * pixels), far: far / pixels };
}
