// SPDX-License-Identifier: Apache-2.0
// A stroke font drawn for this program. A glyph is a text of points on a grid, two characters each
// (x then y, 0-9 and a-z for 0 to 35): the baseline is y = 4, small letters reach 14 ('e'), capitals
// 18 ('i'), tails 0. A '*' before a point makes it the control point of a quadratic curve; two in a
// row have a point of the curve half-way between them. A space lifts the pen.
#include "render/canvas.h"

#include <math.h>
#include <stddef.h>

#define BASELINE 4.0
#define CAPITAL  14.0 // height of a capital above the baseline
#define BEARING  3.4  // room between two glyphs
#define STROKE   1.75 // width of a stroke
#define CURVE    8    // segments of a curve

typedef struct Glyph
{
    uint32_t code;
    int width;
    const char *path;
} Glyph;

static const Glyph ascii[] = {
    {' ', 3, ""},
    {'!', 0, "0i08 0404"},
    {'"', 3, "0i0e 3i3e"},
    {'#', 10, "234i 638i 0999 1dad"},
    {'$', 8, "8f*8i4i*0i0e*0c4b*8a87*8444*0407 4k42"},
    {'%', 11, "2i*0i0f*0c2c*4c4f*4i2i 9a*7a77*7494*b4b7*ba9a 9i24"},
    {'&', 10, "a42e*1f1g*1i4i*6i6g*6d3c*0b08*0444*849a"},
    {'\'', 0, "0i0e"},
    {'(', 3, "3k*0g0a*0430"},
    {')', 3, "0k*3g3a*3400"},
    {'*', 8, "4i4c 1g7e 7g1e"},
    {'+', 8, "4e46 0a8a"},
    {',', 1, "1502"},
    {'-', 5, "0a5a"},
    {'.', 0, "0404"},
    {'/', 6, "026k"},
    {'0', 8, "4i*0i0b*0444*848b*8i4i"},
    {'1', 8, "1f5i54"},
    {'2', 8, "0e*0i4i*8i8e*8c6a0484"},
    {'3', 8, "0f*0i4i*7i7f*7b3b 3b*8b87*8444*0407"},
    {'4', 8, "646i0888"},
    {'5', 8, "7i1i0b*2d4d*8d88*8444*1406"},
    {'6', 8, "7h*6i5i*0i09*0444*8488*8d4d*0d09"},
    {'7', 8, "0i8i34"},
    {'8', 8, "4b*1b*1i4i*7i*7b4b*8b*8444*04*0b4b"},
    {'9', 8, "15*2434*848d*8i4i*0i0e*0949*898d"},
    {':', 0, "0404 0d0d"},
    {';', 1, "1d1d 1502"},
    {'<', 8, "8f0a85"},
    {'=', 8, "0c8c 0888"},
    {'>', 8, "0f8a05"},
    {'?', 8, "0f*0i4i*8i8f*8d6c*4b49 4444"},
    {'@', 13, "6d*3d39*3565*9599*9d6d 9d98*95b5*d5da*di7i*0i0a*0272*a2b3"},
    {'A', 10, "045ia4 2989"},
    {'B', 9, "040i5i*8i*8b5b0b 5b*9b*945404"},
    {'C', 9, "9f*8i5i*0i0b*0454*8497"},
    {'D', 9, "040i4i*9i9b*944404"},
    {'E', 7, "74040i7i 0b6b"},
    {'F', 7, "040i7i 0b6b"},
    {'G', 9, "9f*8i5i*0i0b*0454*94989b5b"},
    {'H', 9, "040i 949i 0b9b"},
    {'I', 0, "040i"},
    {'J', 6, "6i68*6434*0407"},
    {'K', 8, "040i 8i0a 3d84"},
    {'L', 7, "0i0474"},
    {'M', 10, "040i58aia4"},
    {'N', 9, "040i949i"},
    {'O', 10, "5i*0i0b*0454*a4ab*ai5i"},
    {'P', 8, "040i4i*8i*8a4a0a"},
    {'Q', 10, "5i*0i0b*0454*a4ab*ai5i 67a3"},
    {'R', 8, "040i4i*8i*8b4b0b 4b84"},
    {'S', 8, "8f*8i4i*0i0e*0c4b*8a87*8444*0407"},
    {'T', 10, "545i 0iai"},
    {'U', 9, "0i09*04*94999i"},
    {'V', 10, "0i54ai"},
    {'W', 14, "0i447ha4ei"},
    {'X', 9, "049i 0i94"},
    {'Y', 10, "0i5bai 5b54"},
    {'Z', 9, "0i9i0494"},
    {'[', 3, "3k0k0030"},
    {'\\', 6, "0k62"},
    {']', 3, "0k3k3000"},
    {'^', 8, "0d4i8d"},
    {'_', 9, "0292"},
    {'`', 3, "0i3f"},
    {'a', 8, "4e*0e09*0444*8489*8e4e 8e84"},
    {'b', 8, "0i04 4e*0e09*0444*8489*8e4e"},
    {'c', 7, "7c*6e4e*0e09*0444*6476"},
    {'d', 8, "8i84 4e*0e09*0444*8489*8e4e"},
    {'e', 8, "0989*8e4e*0e09*0444*7476"},
    {'f', 5, "5i*2i2e24 0e5e"},
    {'g', 8, "8e84*8040*1002 4e*0e09*0444*8489*8e4e"},
    {'h', 7, "0i04 0a*0e4e*7e7a74"},
    {'i', 0, "040e 0i0i"},
    {'j', 2, "2e23*2000 2i2i"},
    {'k', 7, "0i04 7e07 3a74"},
    {'l', 2, "0i07*0424"},
    {'m', 12, "040e 0a*0e3e*6e6a64 6a*6e9e*cecac4"},
    {'n', 7, "040e 0a*0e4e*7e7a74"},
    {'o', 8, "4e*0e09*0444*8489*8e4e"},
    {'p', 8, "0e00 4e*0e09*0444*8489*8e4e"},
    {'q', 8, "8e80 4e*0e09*0444*8489*8e4e"},
    {'r', 4, "040e 0a*0e4e"},
    {'s', 7, "7c*7e4e*0e0b*0a39*7876*7434*0406"},
    {'t', 5, "2h27*2454 0e5e"},
    {'u', 7, "0e08*0434*7478 7e74"},
    {'v', 8, "0e448e"},
    {'w', 12, "0e346d94ce"},
    {'x', 7, "047e 0e74"},
    {'y', 8, "0e44 8e20"},
    {'z', 7, "0e7e0474"},
    {'{', 4, "4k*2k2h2c*2a0a*2a2823*2040"},
    {'|', 0, "0k00"},
    {'}', 4, "0k*2k2h2c*2a4a*2a2823*2000"},
    {'~', 8, "09*1c4a*788b"},
};

// Beyond ASCII: what units and axes need.
static const Glyph others[] = {
    {0xB0, 4, "2i*0i0g*0e2e*4e4g*4i2i"},                 // degree
    {0xB5, 7, "0e00 08*0434*7478 7e74"},                 // micro
    {0x3BC, 7, "0e00 08*0434*7478 7e74"},                // mu
    {0xB2, 4, "0g*0i2i*4i4g*4e0b4b"},                    // squared
    {0xB3, 4, "0h*1i2i*4i4g*4e1e 1e*4e4d*4b2b*1b0c"},    // cubed
    {0xB7, 0, "0a0a"},                                   // middle dot
    {0xD7, 8, "167d 761d"},                              // times
    {0x2212, 8, "0a8a"},                                 // minus
    {0x2013, 7, "0a7a"},                                 // dash
    {0x3C3, 8, "8e4e*0e09*0444*848a*8e4e"},              // sigma
    {0x3B5, 6, "6d*5e3e*0e0b*093929 39*0906*0434*5465"}, // epsilon
    {0x3BB, 8, "0i*3i4e84 4d04"},                        // lambda
};

static const Glyph missing = {0, 8, "040i8i8404"};

static const Glyph *find_glyph(uint32_t code)
{
    if (code >= 32 && code < 127)
        return &ascii[code - 32];
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i].code == code)
            return &others[i];
    return &missing;
}

// One code point of UTF-8; a malformed byte stands for itself, so that text never stalls the reader.
static uint32_t next_code(const char **text)
{
    const unsigned char *s = (const unsigned char *)*text;
    int more = s[0] >= 0xF0 ? 3 : s[0] >= 0xE0 ? 2 : s[0] >= 0xC0 ? 1 : 0;
    uint32_t code = more == 3 ? s[0] & 0x07u : more == 2 ? s[0] & 0x0Fu : more == 1 ? s[0] & 0x1Fu : s[0];
    for (int i = 1; i <= more; i++)
    {
        if ((s[i] & 0xC0) != 0x80)
        {
            *text += 1;
            return s[0];
        }
        code = code << 6 | (s[i] & 0x3Fu);
    }
    *text += 1 + more;
    return code;
}

double td_text_width(double size, const char *text)
{
    double units = -BEARING;
    while (*text != '\0')
        units += find_glyph(next_code(&text))->width + BEARING;
    return units < 0 ? 0 : units * size / CAPITAL;
}

// Grid to pixels: origin and the grid's unit vectors.
typedef struct Frame
{
    double ox, oy, ux, uy, width;
    tdCanvas *canvas;
} Frame;

static void segment(const Frame *f, const double a[2], const double b[2])
{
    double ay = a[1] - BASELINE, by = b[1] - BASELINE;
    bool dot = a[0] == b[0] && a[1] == b[1]; // a little larger than a stroke is wide
    td_canvas_segment(f->canvas, f->ox + a[0] * f->ux + ay * f->uy, f->oy + a[0] * f->uy - ay * f->ux,
                      f->ox + b[0] * f->ux + by * f->uy, f->oy + b[0] * f->uy - by * f->ux,
                      f->width * (dot ? 1.3 : 1.0));
}

static void curve(const Frame *f, const double a[2], const double control[2], const double b[2])
{
    double last[2] = {a[0], a[1]};
    for (int i = 1; i <= CURVE; i++)
    {
        double t = (double)i / CURVE, s = 1 - t, p[2];
        for (int k = 0; k < 2; k++)
            p[k] = s * s * a[k] + 2 * s * t * control[k] + t * t * b[k];
        segment(f, last, p);
        last[0] = p[0];
        last[1] = p[1];
    }
}

static double grid(char c)
{
    return c <= '9' ? c - '0' : c - 'a' + 10;
}

static void draw_glyph(const Frame *f, const char *path)
{
    double pen[2] = {0}, control[2] = {0};
    bool down = false, pending = false;
    for (const char *s = path; *s != '\0';)
    {
        if (*s == ' ')
        {
            down = pending = false;
            s++;
            continue;
        }
        bool off = *s == '*';
        s += off;
        double p[2] = {grid(s[0]), grid(s[1])};
        s += 2;
        double to[2] = {p[0], p[1]};
        if (off && pending)
            for (int k = 0; k < 2; k++)
                to[k] = 0.5 * (control[k] + p[k]);
        if (pending)
            curve(f, pen, control, to);
        else if (!off && down)
            segment(f, pen, to);
        if (!off || pending)
        {
            pen[0] = to[0];
            pen[1] = to[1];
        }
        if (off)
        {
            control[0] = p[0];
            control[1] = p[1];
        }
        pending = off;
        down = true;
    }
}

void td_canvas_text(tdCanvas *canvas, double x, double y, tdTextStyle style, tdInk ink, const char *text)
{
    double unit = style.size / CAPITAL, angle = style.angle * M_PI / 180;
    double shift = -style.align * td_text_width(style.size, text);
    Frame f = {.canvas = canvas, .ux = unit * cos(angle), .uy = -unit * sin(angle)};
    f.ox = x + shift * cos(angle);
    f.oy = y - shift * sin(angle);
    // Below a pixel a stroke only gets paler, so small text keeps at least that.
    f.width = fmax(STROKE * unit * (style.weight > 0 ? style.weight : 1), 1.05);
    while (*text != '\0')
    {
        const Glyph *glyph = find_glyph(next_code(&text));
        draw_glyph(&f, glyph->path);
        f.ox += (glyph->width + BEARING) * f.ux;
        f.oy += (glyph->width + BEARING) * f.uy;
    }
    td_canvas_flush(canvas, ink);
}
