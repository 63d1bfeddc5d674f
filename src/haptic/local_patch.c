// SPDX-License-Identifier: Apache-2.0
#include "haptic/local_patch.h"

#include "base/vector.h"
#include "contact/contact.h"
#include "haptic/local_bond.h"

#include <math.h>
#include <string.h>

int td_local_room(const tdLocalMaker *maker)
{
    return TD_LOCAL_CONTACTS - (maker->attached ? TD_LOCAL_BOND_BLOCKS : 0);
}

static double distance2(const tdLocalMember *a, const tdLocalMember *b)
{
    double d[3];
    td_subtract3(a->rows.arm, b->rows.arm, d);
    return td_dot3(d, d);
}

// Where there are more contacts than rows, neighbours become one: patches about points that are as far from each other
// as they can be. Within a patch forces keep their shares.
int td_local_make_patches(tdLocalMaker *maker)
{
    tdLocalMember *list = maker->members;
    int n = maker->n_members, room = td_local_room(maker), patches = n <= room ? n : room;
    for (int i = 0; i < n; i++)
    {
        list[i].patch = n <= room ? i : 0;
        list[i].away = n <= room ? 0 : distance2(&list[i], &list[0]);
    }
    for (int p = 1; p < patches && n > room; p++)
    {
        int next = 0;
        for (int i = 1; i < n; i++)
            next = list[i].away > list[next].away ? i : next;
        for (int i = 0; i < n; i++)
        {
            double d = distance2(&list[i], &list[next]);
            if (d < list[i].away || i == next)
            {
                list[i].away = d;
                list[i].patch = p;
            }
        }
    }
    double sum[TD_LOCAL_CONTACTS] = {0};
    for (int i = 0; i < n; i++)
        sum[list[i].patch] += list[i].rows.force[2];
    for (int i = 0; i < n; i++)
        list[i].share = sum[list[i].patch] > 0 ? list[i].rows.force[2] / sum[list[i].patch] : 1;
    return patches;
}

// Directions, place, friction, force and rates of a patch: means by share. Its normal need not be of unit length.
void td_local_sum_patch(const tdLocalMaker *maker, int patch, tdLocalContact *out)
{
    double force[3] = {0, 0, 0}, rate[3] = {0, 0, 0}, normal[3], size;
    *out = (tdLocalContact){.mu = 0};
    for (int i = 0; i < maker->n_members; i++)
    {
        const tdLocalMember *member = &maker->members[i];
        const tdLocalContact *rows = &member->rows;
        if (member->patch != patch)
            continue;
        if (rows->inner || rows->bond) // it is alone
        {
            *out = *rows;
            return;
        }
        out->mu += member->share * rows->mu;
        out->force[2] += rows->force[2];
        out->rate[2] += member->share * rows->rate[2];
        for (int k = 0; k < 3; k++)
        {
            out->arm[k] += member->share * rows->arm[k];
            out->direction[2][k] += member->share * rows->direction[2][k];
            force[k] += member->force[k];
            for (int r = 0; r < 3; r++)
                rate[k] += member->share * rows->rate[r] * rows->direction[r][k];
        }
    }
    size = sqrt(td_dot3(out->direction[2], out->direction[2]));
    for (int k = 0; k < 3; k++)
        normal[k] = size > 0 ? out->direction[2][k] / size : k == 2;
    double frame[3][3];
    td_contact_frame(normal, frame);
    memcpy(out->direction, frame, 2 * sizeof frame[0]);
    for (int k = 0; k < 3; k++)
        force[k] -= out->force[2] * out->direction[2][k];
    for (int r = 0; r < 2; r++)
    {
        out->force[r] = td_dot3(frame[r], force);
        out->rate[r] = td_dot3(frame[r], rate);
    }
}

// What a unit of each row of its patch is in the rows of a member.
void td_local_set_parts(tdLocalMember *member, const tdLocalContact *patch)
{
    for (int q = 0; q < 3; q++)
    {
        bool alone = member->rows.inner || member->rows.bond;
        for (int r = 0; r < 3 && alone; r++)
            member->part[q][r] = q == r;
        if (alone)
            continue;
        for (int r = 0; r < 2; r++)
            member->part[q][r] = member->share * td_dot3(member->rows.direction[q], patch->direction[r]);
        member->part[q][2] = q == 2 ? member->share : 0;
    }
}

// out = P' W P: the compliance of patches from that of their members, P of their parts.
void td_local_reduce(const tdLocalMaker *maker, const tdLocal *local, const double *W, double *out)
{
    int64_t m = 3 * (int64_t)maker->n_members, n = 3 * (int64_t)local->n;
    memset(out, 0, (size_t)(n * n) * sizeof *out);
    for (int64_t i = 0; i < m; i++)
    {
        const tdLocalMember *a = &maker->members[i / 3];
        for (int j = 0; j < maker->n_members; j++)
        {
            const tdLocalMember *b = &maker->members[j];
            const double *w = W + i * m + 3 * (int64_t)j;
            for (int q = 0; q < 3; q++)
            {
                double value = w[0] * b->part[0][q] + w[1] * b->part[1][q] + w[2] * b->part[2][q];
                for (int r = 0; r < 3; r++)
                    out[(3 * a->patch + r) * n + 3 * b->patch + q] += a->part[i % 3][r] * value;
            }
        }
    }
}
