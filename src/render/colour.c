// SPDX-License-Identifier: Apache-2.0
// Colour maps, laid out in Oklab (lightness, chroma, hue), where equal steps look equal: lightness
// is linear in the value, hue and chroma follow a few hand-placed stations. A colour outside sRGB
// loses chroma, never lightness, so that a map keeps its order when printed in grey.
#include "render/render.h"

#include <math.h>

typedef struct Station
{
    double chroma, hue; // hue in degrees
} Station;

#define STATIONS 5

static const Station lagoon[STATIONS] = {{0.125, 305}, {0.115, 270}, {0.092, 222}, {0.125, 160}, {0.185, 106}};
static const Station ember[STATIONS] = {{0.090, 292}, {0.170, 342}, {0.195, 388}, {0.165, 422}, {0.080, 464}};

static double mix(double a, double b, double t)
{
    return a + (b - a) * t;
}

// Catmull-Rom through equally spaced stations.
static double spline(double p0, double p1, double p2, double p3, double t)
{
    return p1 + 0.5 * t * (p2 - p0 + t * (2 * p0 - 5 * p1 + 4 * p2 - p3 + t * (3 * (p1 - p2) + p3 - p0)));
}

static void along(const Station *s, double t, double *chroma, double *hue)
{
    double u = t * (STATIONS - 1);
    int i = (int)u < STATIONS - 2 ? (int)u : STATIONS - 2;
    int before = i > 0 ? i - 1 : 0, after = i + 2 < STATIONS ? i + 2 : STATIONS - 1;
    *chroma = spline(s[before].chroma, s[i].chroma, s[i + 1].chroma, s[after].chroma, u - i);
    *hue = spline(s[before].hue, s[i].hue, s[i + 1].hue, s[after].hue, u - i);
}

// Oklab to linear sRGB (Ottosson 2020). Returns whether the colour can be shown.
static bool oklab_linear(double lightness, double chroma, double hue, double rgb[3])
{
    double a = chroma * cos(hue * M_PI / 180), b = chroma * sin(hue * M_PI / 180);
    double l = lightness + 0.3963377774 * a + 0.2158037573 * b;
    double m = lightness - 0.1055613458 * a - 0.0638541728 * b;
    double s = lightness - 0.0894841775 * a - 1.2914855480 * b;
    l = l * l * l;
    m = m * m * m;
    s = s * s * s;
    rgb[0] = 4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s;
    rgb[1] = -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s;
    rgb[2] = -0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s;
    return fmin(rgb[0], fmin(rgb[1], rgb[2])) >= 0 && fmax(rgb[0], fmax(rgb[1], rgb[2])) <= 1;
}

static void oklab_srgb(double lightness, double chroma, double hue, double rgb[3])
{
    if (!oklab_linear(lightness, chroma, hue, rgb))
    {
        double lo = 0, hi = chroma;
        for (int i = 0; i < 24; i++)
        {
            double middle = 0.5 * (lo + hi);
            if (oklab_linear(lightness, middle, hue, rgb))
                lo = middle;
            else
                hi = middle;
        }
        oklab_linear(lightness, lo, hue, rgb);
    }
    for (int k = 0; k < 3; k++)
        rgb[k] = td_linear_to_srgb(rgb[k]);
}

double td_srgb_to_linear(double c)
{
    return c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4);
}

double td_linear_to_srgb(double c)
{
    c = c > 0 ? (c < 1 ? c : 1) : 0;
    return c <= 0.0031308 ? 12.92 * c : 1.055 * pow(c, 1 / 2.4) - 0.055;
}

const char *td_colour_map_name(tdColourMap map)
{
    switch (map)
    {
    case TD_COLOURS_LAGOON: return "lagoon";
    case TD_COLOURS_EMBER: return "ember";
    case TD_COLOURS_BALANCE: return "balance";
    default: return "grey";
    }
}

void td_colour_map(tdColourMap map, double t, double rgb[3])
{
    double chroma = 0, hue = 0;
    if (isnan(t))
    {
        rgb[0] = rgb[1] = rgb[2] = 0.6;
        return;
    }
    t = t < 0 ? 0 : t > 1 ? 1 : t;
    switch (map)
    {
    case TD_COLOURS_LAGOON:
        along(lagoon, t, &chroma, &hue);
        oklab_srgb(mix(0.28, 0.92, t), chroma, hue, rgb);
        break;
    case TD_COLOURS_EMBER:
        along(ember, t, &chroma, &hue);
        oklab_srgb(mix(0.22, 0.95, t), chroma, hue, rgb);
        break;
    case TD_COLOURS_BALANCE:
    {
        double s = fabs(2 * t - 1);
        oklab_srgb(mix(0.96, 0.40, s), 0.20 * s * (1.75 - 0.9 * s), t < 0.5 ? mix(235, 262, s) : mix(48, 24, s), rgb);
        break;
    }
    default: oklab_srgb(mix(0.22, 0.95, t), 0, 0, rgb);
    }
}

double td_nice_step(double lo, double hi, int n)
{
    double rough = (hi - lo) / n, power = pow(10, floor(log10(rough))), part = rough / power;
    return power * (part < 1.5 ? 1 : part < 3.5 ? 2 : part < 7.5 ? 5 : 10);
}

const char *td_si_prefix(double size, double *factor)
{
    static const struct
    {
        double factor;
        const char *prefix;
    } table[] = {{1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}, {1e-3, "m"}, {1e-6, "µ"}, {1e-9, "n"}};
    int n = (int)(sizeof table / sizeof *table);
    for (int i = 0; i < n; i++)
        // 0.9995: a number that would be rounded up to 1000 of the smaller unit already takes the larger.
        if (fabs(size) >= 0.9995 * table[i].factor)
        {
            *factor = table[i].factor;
            return table[i].prefix;
        }
    *factor = size == 0 ? 1 : 1e-9;
    return size == 0 ? "" : "n";
}

bool td_field_range(int64_t n, const double *field, double range[2])
{
    bool any = false;
    for (int64_t i = 0; i < n; i++)
    {
        if (!isfinite(field[i]))
            continue;
        range[0] = any && range[0] < field[i] ? range[0] : field[i];
        range[1] = any && range[1] > field[i] ? range[1] : field[i];
        any = true;
    }
    return any;
}
