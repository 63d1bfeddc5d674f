// SPDX-License-Identifier: Apache-2.0
// tendril info FILE.h5: what a reduced model is, in words, and its singular values as a picture.
#include "cli.h"

#include "reduce/rom.h"
#include "render/plot.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_inputs(const tdRom *rom)
{
    if (rom->n_u == 0)
        return;
    fputs("moved nodes  ", stdout);
    for (int i = 0; i < rom->n_u; i++)
        printf("%s%s", i > 0 ? ", " : "", rom->inputs[i][0] != '\0' ? rom->inputs[i] : "(constant)");
    puts(": a static response for each, in addition to the modes");
}

static void print_domain(const tdRomDomain *domain)
{
    double sum = 0, largest = 0;
    for (int64_t i = 0; i < domain->n; i++)
    {
        sum += domain->weight[i];
        largest = fmax(largest, domain->weight[i]);
    }
    printf("%-12s %" PRId64 " elements represent all, weights %.3g on average, %.3g at most;\n", domain->name,
           domain->n, domain->n > 0 ? sum / (double)domain->n : 0, largest);
    printf("             they miss the training forces by %.2g %% (%.2g %% requested)\n", 100 * domain->error,
           100 * domain->tolerance);
    if (domain->n_check > 0)
        printf("             %" PRId64 " others estimate its error while it runs\n", domain->n_check);
}

static void print_words(const char *path, const tdRom *rom)
{
    static const char *const frames[] = {"held in space", "a frame that translates carries the modes",
                                         "a rigid frame carries the modes"};
    printf("%s: reduced model of body '%s', made by Tendril %s\n", path, rom->body, rom->made_by);
    printf("nodes        %" PRId64 ", moved by %d modes instead of %" PRId64 " coordinates; %s\n", rom->n_nodes, rom->r,
           3 * rom->n_nodes, frames[rom->frame]);
    if (rom->n_lambda > 0)
        printf("modes        of %d vibration modes, from %.4g Hz on, %s\n", rom->n_lambda,
               sqrt(rom->lambda[0]) / (2 * 3.14159265358979323846),
               rom->n_snapshots > 0 ? "in addition to those of the snapshots" : "and their derivatives");
    if (rom->n_lambda == 0 || rom->n_snapshots > 0)
        printf("training     %" PRId64 " snapshots; the modes leave out %.2e of them (%.2e allowed)\n",
               rom->n_snapshots, rom->pod_error, rom->pod_tolerance);
    print_inputs(rom);
    for (int d = 0; d < rom->n_domains; d++)
        print_domain(&rom->domains[d]);
    if (rom->kind == TD_ROM_STVK)
        printf("forces       polynomials of %d coordinates, exact; no elements while it runs\n", rom->r + rom->n_u);
    if (isnan(rom->held_out_error))
        puts("held out     not compared with full order");
    else
        printf("held out     error %.2g %% of the motion, at points that training did not visit\n",
               100 * rom->held_out_error);
    if (!isnan(rom->indicator_threshold))
        printf("indicator    warns above %.3g, and above a distance of %.3g from the training shapes\n",
               rom->indicator_threshold, rom->distance_threshold);
    if (!isnan(rom->motion_error))
        printf("moving       error %.2g %% of the motion\n", 100 * rom->motion_error);
    if (rom->single_error > 0)
        printf("tangent      error %.1e in single precision; %s is used unless you choose otherwise\n",
               rom->single_error, rom->single_error <= TD_ROM_SINGLE_ERROR ? "single" : "double");
    double seconds = 0;
    for (int i = 0; i < rom->n_phases; i++)
        seconds += rom->seconds[i];
    printf("took         %.3g s", seconds);
    for (int i = 0, n = 0; i < rom->n_phases; i++)
        if (rom->seconds[i] > 0)
            printf("%s%s %.3g", n++ > 0 ? ", " : ": ", rom->phases[i], rom->seconds[i]);
    printf("\ncontent      %016" PRIx64 "\n", td_rom_hash(rom));
}

static void print_json(const char *path, const tdRom *rom)
{
    tdJson json = {0};
    char content[17];
    int64_t elements = 0;
    double error = 0;
    snprintf(content, sizeof content, "%016" PRIx64, td_rom_hash(rom));
    td_json_open(&json, NULL, '{');
    td_json_string(&json, "file", path);
    td_json_string(&json, "kind", "reduced model");
    td_json_string(&json, "body", rom->body);
    td_json_string(&json, "version", rom->made_by);
    td_json_integer(&json, "nodes", rom->n_nodes);
    td_json_string(&json, "frame", td_frame_name(rom->frame));
    td_json_string(&json, "forces", td_rom_kind_name(rom->kind));
    td_json_numbers(&json, "lambda", rom->n_lambda, rom->lambda);
    td_json_integer(&json, "snapshots", rom->n_snapshots);
    td_json_integer(&json, "modes", rom->r);
    td_json_number(&json, "pod_tolerance", rom->pod_tolerance);
    td_json_number(&json, "pod_error", rom->pod_error);
    td_json_numbers(&json, "sigma", rom->n_sigma, rom->sigma);
    td_json_open(&json, "inputs", '[');
    for (int i = 0; i < rom->n_u; i++)
        td_json_string(&json, NULL, rom->inputs[i]);
    td_json_close(&json, ']');
    td_json_open(&json, "domains", '[');
    for (int d = 0; d < rom->n_domains; d++)
    {
        const tdRomDomain *domain = &rom->domains[d];
        td_json_open(&json, NULL, '{');
        td_json_string(&json, "name", domain->name);
        td_json_integer(&json, "rid_elements", domain->n);
        td_json_integer(&json, "check_elements", domain->n_check);
        td_json_number(&json, "tolerance", domain->tolerance);
        td_json_number(&json, "error", domain->error);
        td_json_close(&json, '}');
        elements += domain->n;
        error = fmax(error, domain->error);
    }
    td_json_close(&json, ']');
    td_json_integer(&json, "rid_elements", elements);
    td_json_number(&json, "ecsw_error", error);
    td_json_number(&json, "held_out_error", rom->held_out_error);
    td_json_string(&json, "content", content);
    td_json_open(&json, "seconds", '{');
    for (int i = 0; i < rom->n_phases; i++)
        td_json_number(&json, rom->phases[i], rom->seconds[i]);
    td_json_close(&json, '}');
    td_json_close(&json, '}');
    cli_print_json(&json);
}

// Singular values, and what each number of modes would leave behind.
static tdStatus draw(const tdRom *rom, const char *picture, tdError *error)
{
    int n = 0;
    while (n < rom->n_sigma && rom->sigma[n] > 0)
        n++;
    double *x = calloc(3 * (size_t)n + 1, sizeof *x), *sigma = x + n, *left = sigma + n, all = 0, rest = 0;
    if (x == NULL)
        return td_fail_memory(error, "a picture");
    for (int i = 0; i < n; i++)
        all += rom->sigma[i] * rom->sigma[i];
    for (int i = n - 1; i >= 0; i--)
    {
        x[i] = i + 1;
        sigma[i] = rom->sigma[i] / rom->sigma[0];
        left[i] = i == n - 1 ? NAN : sqrt(rest / all); // with i + 1 modes
        rest += rom->sigma[i] * rom->sigma[i];
    }
    double limit_x[2] = {1, fmax(n, 2)}, limit_y[2] = {rom->pod_tolerance, rom->pod_tolerance};
    double chosen_x[1] = {rom->r}, chosen_y[1] = {rom->pod_error > 0 ? rom->pod_error : NAN};
    const tdSeries series[] = {
        {.name = "singular value, relative", .n = n, .x = x, .y = sigma, .marker = TD_MARKER_CIRCLE},
        {.name = "left out by this many modes", .n = n, .x = x, .y = left, .marker = TD_MARKER_SQUARE},
        {.name = "tolerance", .n = 2, .x = limit_x, .y = limit_y, .colour = -1, .line = TD_LINE_DASHED},
        {.name = "chosen", .n = 1, .x = chosen_x, .y = chosen_y, .marker = TD_MARKER_DIAMOND, .line = TD_LINE_NONE},
    };
    char title[160];
    if (rom->n_snapshots == 0)
        snprintf(title, sizeof title, "%.80s: %d columns of %d vibration modes", rom->body, rom->r, rom->n_lambda);
    else
        snprintf(title, sizeof title, "%.80s: %d modes of %" PRId64 " snapshots", rom->body, rom->r, rom->n_snapshots);
    tdPanel panel = {td_default_plot(), 4, series};
    panel.settings.title = title;
    panel.settings.x_label = "mode";
    panel.settings.y_log = true;
    tdStatus status = td_plot_panels(1, 1, &panel, picture, error);
    free(x);
    return status;
}

int cmd_info_rom(const char *path, const char *picture)
{
    tdRom rom;
    tdError error = {0};
    tdStatus status = td_rom_read(path, &rom, &error);
    if (status == TD_OK && picture != NULL)
        status = draw(&rom, picture, &error);
    if (status == TD_OK && cli_json())
        print_json(path, &rom);
    else if (status == TD_OK)
        print_words(path, &rom);
    td_rom_free(&rom);
    return status == TD_OK ? 0 : cli_fail(&error);
}
