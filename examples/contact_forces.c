// SPDX-License-Identifier: Apache-2.0
// Who presses on whom: steps a scene and prints the sums of contact forces by pairs of links, with their names.
//
//     cc contact_forces.c -o contact_forces $(pkg-config --cflags --libs tendril) -lm
//     ./contact_forces scenes/contact/grasp.yaml 100
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <tendril/tendril.h>

static int fail(const tdError *error)
{
    char text[1200];
    td_error_format(error, text, sizeof text);
    fprintf(stderr, "contact_forces: %s\n", text);
    return error->status;
}

// "hand.thumb_3", or the name of the body alone where that is soft or has one link.
static const char *side(const tdModel *model, int body, int link, char *text, size_t size)
{
    const char *name = link >= 0 && td_model_links(model, body) > 1 ? td_model_link_name(model, body, link) : NULL;
    snprintf(text, size, "%s%s%s", td_model_body_name(model, body), name ? "." : "", name ? name : "");
    return text;
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return fprintf(stderr, "usage: contact_forces SCENE.yaml [STEPS]\n"), 2;
    tdModel *model = NULL;
    tdState *state = NULL;
    tdError error = {0};
    if (td_model_load(argv[1], NULL, &model, &error) != TD_OK || td_state_create(model, NULL, &state, &error) != TD_OK)
        return fail(&error);
    int64_t steps = argc > 2 ? atoi(argv[2]) : td_model_steps(model);
    while (td_state_steps(state) < steps)
        if (td_step(model, state) != TD_OK)
            return fail(&td_state_report(state)->error);

    const tdContactSum *sums;
    int64_t n = td_state_contact_sums(state, &sums);
    printf("%.3f s: %d pairs touch\n", td_state_time(state), (int)n);
    for (int64_t i = 0; i < n; i++)
    {
        char a[160], b[160];
        const double *f = sums[i].force, size = hypot(hypot(f[0], f[1]), f[2]);
        printf("  %s on %s: %.3f N by %d points, along %.2f %.2f %.2f\n",
               side(model, sums[i].body[0], sums[i].link[0], a, sizeof a),
               side(model, sums[i].body[1], sums[i].link[1], b, sizeof b), size, sums[i].points, f[0] / size,
               f[1] / size, f[2] / size);
    }
    td_state_free(state);
    td_model_free(model);
    return 0;
}
