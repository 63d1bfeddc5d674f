// SPDX-License-Identifier: Apache-2.0
// The report of 'tendril demo': what the robot is, what was done with it, and what came of it, in words that need no
// knowledge of the field.
#include "demo.h"

#include "base/memory.h"
#include "reduce/rom.h"
#include "study/show.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// ---------------------------------------------------------------- pictures

typedef struct Shot
{
    tdSubject *subject;
    int width, height;
    bool ghost, edges;
    bool keys; // names of colours: in a small picture they would be too small
} Shot;

// Light and dark; the subject stays the caller's.
static tdStatus take_shot(const Shot *shot, tdImage image[2], tdError *error)
{
    tdShow *stage = calloc(1, sizeof *stage);
    if (stage == NULL)
        return td_fail_memory(error, "a picture");
    stage->n_files = 1;
    stage->subjects[0] = *shot->subject;
    tdShowLook look = td_show_default();
    look.ghost = shot->ghost;
    look.edges = shot->edges;
    tdRenderSettings settings = td_default_render();
    tdStatus status = td_show_set(stage, &look, error);
    if (status == TD_OK)
        status = td_tasks_create(0, &settings.tasks, error);
    settings.supersample = 2; // the page shows pictures smaller than they are
    settings.width = shot->width;
    settings.height = shot->height;
    settings.n_keys = shot->keys ? stage->n_keys : 0;
    settings.keys = stage->keys;
    for (int k = 0; k < 2 && status == TD_OK; k++)
    {
        settings.background = k == 0 ? TD_BACKGROUND_LIGHT : TD_BACKGROUND_DARK;
        status = td_render(&settings, stage->n, stage->meshes, &image[k], error);
    }
    td_tasks_free(settings.tasks);
    stage->n_files = 0; // what they hold is not the stage's
    td_show_free(stage);
    free(stage);
    return status;
}

static tdStatus put_shot(tdPage *page, const Shot *shot, const char *file, const char *alt, const char *caption,
                         tdError *error)
{
    tdImage image[2] = {0};
    tdStatus status = take_shot(shot, image, error);
    if (status == TD_OK && file != NULL)
        status = td_image_write_png(&image[0], file, error);
    if (status == TD_OK)
        status = td_page_picture(page, &image[0], &image[1], alt, caption, error);
    td_image_free(&image[0]);
    td_image_free(&image[1]);
    return status;
}

// The rest shape behind a pose, from the displacement that every simulated shape has.
static tdStatus with_rest(tdSubject *subject, tdError *error)
{
    tdPicture *p = &subject->pictures[0];
    return p->rest == NULL ? td_picture_deform(p, subject->path, 1, error) : TD_OK;
}

// The goal of the first effector, as a curve through all its places.
static tdStatus add_course(const Demo *demo, tdSubject *subject, tdError *error)
{
    const tdTracking *table = demo->table;
    double *x = td_take(3 * (size_t)table->n, sizeof *x);
    if (x == NULL)
        return td_fail_memory(error, "the path");
    for (int64_t i = 0; i < 3 * table->n; i++)
        x[i] = td_tracking_at(table, i / 3, td_tracking_goal_column(table, 0) + (int)(i % 3));
    tdStatus status = td_subject_add_path(subject, table->n, x, error);
    free(x);
    return status;
}

static bool is_position(const Demo *demo)
{
    return strcmp(td_model_effector(demo->model, demo->table->effector[0]).kind, "position") == 0;
}

// ---------------------------------------------------------------- sections

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

static void put_facts(tdPage *page, const Demo *demo)
{
    const tdCompared *m = &demo->compared.models[demo->hyper];
    char times[32], rate[32], error[32], path[32], count[32];
    int last = demo->compared.n_errors - 1;
    snprintf(times, sizeof times, "%.0f \xC3\x97", m->rate / demo->compared.models[0].rate);
    snprintf(rate, sizeof rate, "%s", td_page_count((int64_t)llround(m->rate), count));
    snprintf(error, sizeof error, "%.1f %%", 100 * m->mean[last]);
    snprintf(path, sizeof path, "%.2f mm", 1e3 * demo->mean_error);
    const tdFact facts[] = {{times, "as fast as the full model, with one thread"},
                            {rate, "steps a second, hyper-reduced"},
                            {error, "mean error of the shape, on a motion it was not trained for"},
                            {path, "mean distance of the full model from its path"}};
    td_page_facts(page, demo->error != NULL ? 4 : 3, facts);
}

static tdStatus put_head(tdPage *page, Demo *demo, tdError *error)
{
    char lead[500], file[PATH_MAX];
    tdSubject *pose = &demo->poses[demo->n_poses - 1];
    snprintf(lead, sizeof lead,
             "A soft robot with %.80s, from its finite-element model to real-time control: what was done in %.0f s on "
             "this machine, and the results.",
             demo->actuators, demo->seconds[0] + demo->seconds[1] + demo->seconds[2] + demo->seconds[3]);
    td_page_begin(page, "Tendril: a soft robot in real time", lead);
    put_facts(page, demo);
    if (!td_path_join(file, sizeof file, demo->out, "robot.png"))
        return td_fail_at(error, TD_ERROR_IO, demo->out, 0, NULL, "the path is too long");
    TD_TRY(with_rest(pose, error));
    if (is_position(demo))
        TD_TRY(add_course(demo, pose, error));
    const Shot shot = {pose, 1240, 720, true, false, true};
    return put_shot(page, &shot, file, "The robot, bent by its cables, with the path that its tip follows",
                    "The robot on its way along the path (teal), its shape at rest behind it. The tip "
                    "has its goal at the cross.",
                    error);
}

static tdStatus put_robot(tdPage *page, Demo *demo, tdError *error)
{
    char nodes[32], elements[32], unknowns[32], step[48], caption[200];
    const char *cells[] = {
        "",         "",       "scene",     base_name(demo->scene), "nodes",     nodes, "elements", elements,
        "unknowns", unknowns, "actuators", demo->actuators,        "time step", step};
    td_page_count(demo->nodes, nodes);
    td_page_count(demo->elements, elements);
    td_page_count(demo->unknowns, unknowns);
    snprintf(step, sizeof step, "%g ms", 1e3 * demo->time_step);
    cells[0] = "the robot";
    td_page_section(page, "The robot");
    td_page_text(page,
                 "The body is divided into %s small elements, each with the law of its material. Every step solves for "
                 "all %s unknown coordinates together: that is the **full order** "
                 "model. It is the most accurate one here, and the slowest.",
                 elements, unknowns);
    td_page_columns(page);
    const Shot shot = {&demo->rest, 760, 560, false, true, false};
    snprintf(caption, sizeof caption,
             "At rest, with its mesh, its %.80s and the nodes that are held (dark). The ball marks the effector.",
             demo->actuators);
    TD_TRY(put_shot(page, &shot, NULL, "The robot at rest with its mesh", caption, error));
    td_page_table(page, 7, 2, cells, "lr", -1, "`tendril check` prints this and more of any scene.");
    td_page_columns_end(page);
    return TD_OK;
}

static tdStatus plot_modes(tdPage *page, const tdRom *rom, tdError *error)
{
    int n = 0;
    while (n < rom->n_sigma && rom->sigma[n] > 0 && n < 3 * rom->r)
        n++;
    double *x = td_take(2 * (size_t)n, sizeof *x), *left = x + n, all = 0, rest = 0;
    if (x == NULL)
        return td_fail_memory(error, "a plot");
    for (int i = 0; i < rom->n_sigma; i++)
        all += rom->sigma[i] * rom->sigma[i];
    for (int i = rom->n_sigma - 1; i >= 0; i--)
    {
        if (i < n)
        {
            x[i] = i + 1;
            left[i] = rest > 0 ? sqrt(rest / all) : NAN;
        }
        rest += rom->sigma[i] * rom->sigma[i];
    }
    const double limit_x[2] = {1, n}, limit_y[2] = {rom->pod_tolerance, rom->pod_tolerance};
    const double chosen_x[1] = {rom->r}, chosen_y[1] = {rom->pod_error > 0 ? rom->pod_error : NAN};
    const tdSeries series[] = {
        {.name = "left out by this many modes", .n = n, .x = x, .y = left, .colour = 1},
        {.name = "tolerance", .n = 2, .x = limit_x, .y = limit_y, .colour = -1, .line = TD_LINE_DASHED},
        {.name = "chosen",
         .n = 1,
         .x = chosen_x,
         .y = chosen_y,
         .colour = 2,
         .marker = TD_MARKER_CIRCLE,
         .line = TD_LINE_NONE},
    };
    tdPlotSettings settings = td_default_page_plot();
    settings.height = 380;
    settings.y_log = true;
    settings.x_label = "modes";
    settings.y_label = "share of the shapes that is left out";
    tdStatus status =
        td_page_plot(page, &settings, 3, series,
                     "Share of the collected shapes that the modes leave out: a few modes are enough.", error);
    free(x);
    return status;
}

static tdStatus put_reduction(tdPage *page, Demo *demo, tdError *error)
{
    const tdReduceReport *r = &demo->reduced;
    char chosen[32], all[32], unknowns[32];
    tdRom rom;
    td_page_count(r->rid_elements, chosen);
    td_page_count(r->elements, all);
    td_page_section(page, "Making it small");
    td_page_text(page,
                 "A soft robot can take any shape, but its actuators only ever lead it to few of them. Tendril pulled "
                 "them in many combinations and collected %" PRId64 " equilibria. **%d modes**, added up in the right "
                 "amounts, give all of these shapes to within %.2g %%: that is the **reduced** model, of %d unknowns "
                 "instead of %s.",
                 r->snapshots + r->weight_snapshots, r->modes, 100 * r->pod_error, r->modes,
                 td_page_count(demo->unknowns, unknowns));
    td_page_text(page,
                 "It would still visit every element in each step. So **%s of the %s elements** were chosen, with "
                 "weights, such that their forces represent those of all (to %.1f %% of the training forces). That is "
                 "the **hyper-reduced** model: the cost of a step no longer depends on the mesh.",
                 chosen, all, 100 * r->ecsw_error);
    if (r->held_out_places > 0)
        td_page_text(page,
                     "Then it was tested at %" PRId64 " equilibria that training had not seen: the mean error is %.1f "
                     "%%, the largest %.1f %%. All of this took %.0f s.",
                     r->held_out_places, 100 * r->held_out_error, 100 * r->held_out_worst, demo->seconds[DEMO_REDUCE]);
    tdStatus status = td_rom_read(demo->rom, &rom, error);
    td_page_columns(page);
    if (status == TD_OK)
        status = plot_modes(page, &rom, error);
    td_rom_free(&rom);
    TD_TRY(status);
    const Shot shot = {&demo->domain, 760, 560, false, false, false};
    TD_TRY(put_shot(page, &shot, NULL, "The robot, translucent, with the chosen elements in orange",
                    "The elements that represent all others (orange).", error));
    td_page_columns_end(page);
    return TD_OK;
}

static tdStatus put_comparison(tdPage *page, const Demo *demo, tdError *error)
{
    const tdCompared *m = &demo->compared.models[demo->hyper];
    td_page_section(page, "What it costs and what it gains");
    td_page_text(page,
                 "The three models ran side by side on a motion that training never saw: %s over the ranges of all "
                 "actuators. The hyper-reduced model takes %.2f ms for a step of %g ms: **%.0f times real time**, on "
                 "one thread.",
                 demo->compared.motion_name, 1e3 / m->rate, 1e3 * demo->time_step, m->rate * demo->time_step);
    if (m->warnings > 0)
        td_page_text(
            page,
            "This motion is faster than the equilibria that training knows. The model detected this itself: in %" PRId64
            " of %" PRId64 " steps it warned that it had left its training range.",
            m->warnings, demo->compared.steps);
    if (demo_was_busy(demo))
        td_page_text(page,
                     "**The machine was busy with other work** (load %.1f on %d cores) while this was measured: speeds "
                     "are too low, and their ratios uncertain.",
                     demo->load, demo->cores);
    return td_compare_page(page, &demo->compared, error);
}

static tdStatus put_poses(tdPage *page, Demo *demo, tdError *error)
{
    td_page_columns(page);
    for (int k = 0; k + 1 < demo->n_poses; k += 2)
    {
        char caption[80];
        tdSubject *pose = &demo->poses[k];
        TD_TRY(with_rest(pose, error));
        if (is_position(demo))
            TD_TRY(add_course(demo, pose, error));
        snprintf(caption, sizeof caption, "On its way, at %.2f s.", pose->time);
        const Shot shot = {pose, 760, 560, true, false, false};
        TD_TRY(put_shot(page, &shot, NULL, "The robot at one moment of the path", caption, error));
    }
    td_page_columns_end(page);
    return TD_OK;
}

static tdStatus put_control(tdPage *page, Demo *demo, tdError *error)
{
    const tdTracking *table = demo->table;
    const tdTrackingOther other = {"full order", demo->value, demo->error};
    td_page_section(page, "Following a path");
    td_page_text(page,
                 "Now the problem is inverted: the tip has a goal, and Tendril finds what the actuators have to do, "
                 "within their limits. It solves for both together in every step. A step of control "
                 "takes **%.2g ms** with the hyper-reduced model, out of the %g ms available.",
                 demo->step_ms, 1e3 * demo->time_step);
    if (demo->error != NULL)
        td_page_text(
            page,
            "The model under control is where it should be. How good is that for a real robot? Here the full model "
            "stands in for it: it was given the same actuation and does not know the goal. It stays within "
            "**%.2f mm** of the path, %.2f mm in the mean. (With measurements of the real robot the loop can "
            "be closed: `tendril control --measured`.)",
            1e3 * demo->largest_error, 1e3 * demo->mean_error);
    if (table->out_of_reach > 0)
        td_page_text(page,
                     "In %" PRId64 " of %" PRId64 " steps the goal was out of reach within the limits of the "
                     "actuators; there the nearest was taken.",
                     table->out_of_reach, table->n);
    TD_TRY(put_poses(page, demo, error));
    return td_tracking_page(page, table, demo->error != NULL ? &other : NULL, error);
}

static void put_next(tdPage *page, const Demo *demo)
{
    char commands[3 * PATH_MAX];
    snprintf(commands, sizeof commands,
             "tendril run %.1000s --rom %.1000s --out out/run\n"
             "tendril control %.1000s --rom %.1000s --free all --target %.1000s --report path.html\n"
             "tendril demo --scene my_robot.yaml --path my_path.csv     # this page, of your robot\n",
             demo->scene, demo->rom, demo->scene, demo->rom, demo->path);
    td_page_section(page, "Do it yourself");
    td_page_text(page, "All of this is in the files beside this page: `robot.h5` is the reduced model, `path/` holds "
                       "tables and frames for ParaView (`path/run.pvd`). The same by hand:");
    td_page_code(page, commands);
}

// ---------------------------------------------------------------- all

static tdStatus put_all(tdPage *page, Demo *demo, tdError *error)
{
    char date[32] = "";
    time_t now = time(NULL);
    struct tm parts;
    if (localtime_r(&now, &parts) != NULL)
        strftime(date, sizeof date, "%Y-%m-%d %H:%M", &parts);
    TD_TRY(put_head(page, demo, error));
    TD_TRY(put_robot(page, demo, error));
    TD_TRY(put_reduction(page, demo, error));
    TD_TRY(put_comparison(page, demo, error));
    TD_TRY(put_control(page, demo, error));
    put_next(page, demo);
    td_page_note(page,
                 "Made by tendril %s on %s. Machine: %s, %d cores. Time: %.1f s reducing, %.1f s comparing, %.1f s "
                 "following the path.",
                 td_version(), date, demo->machine, demo->cores, demo->seconds[DEMO_REDUCE],
                 demo->seconds[DEMO_COMPARE], demo->seconds[DEMO_CONTROL]);
    return TD_OK;
}

tdStatus demo_write_page(Demo *demo, tdError *error)
{
    tdPage page = {0};
    tdStatus status = put_all(&page, demo, error);
    if (status == TD_OK)
        status = td_page_write(&page, demo->page, error);
    td_page_free(&page);
    return status;
}
