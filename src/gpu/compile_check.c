// SPDX-License-Identifier: Apache-2.0
// What the GPU does not support: each with a sentence that says so.
#include "constraint/constraint.h"
#include "contact/contact.h"
#include "gpu/compile_parts.h"

#include <math.h>
#include <string.h>

const tdBody *td_gpu_body(const tdModel *model)
{
    for (int b = 0; b < model->n_bodies; b++)
        if (model->bodies[b].ops == &td_reduced_ops)
            return &model->bodies[b];
    return &model->bodies[0];
}

tdStatus td_gpu_refuse(const tdModel *model, tdError *error, const char *field, const char *what)
{
    return td_fail_at(error, TD_ERROR_INPUT, model->file, 0, field, "%s; use 'device: cpu' (docs/gpu.md has the list)",
                      what);
}

int32_t td_gpu_law(const tdLaw *law)
{
    static const struct
    {
        tdLawKind kind;
        int32_t law;
    } known[] = {{TD_LAW_COROTATIONAL, TD_GPU_COROTATIONAL},
                 {TD_LAW_COROTATIONAL_LAGGED, TD_GPU_LAGGED},
                 {TD_LAW_STVK, TD_GPU_STVK},
                 {TD_LAW_NEO_HOOKEAN, TD_GPU_NEO_HOOKEAN},
                 {TD_LAW_MOONEY_RIVLIN, TD_GPU_MOONEY_RIVLIN}};
    for (size_t k = 0; k < sizeof known / sizeof known[0]; k++)
        if (td_law(known[k].kind) == law)
            return known[k].law;
    return -1;
}

static tdStatus refuse_body(const tdModel *model, tdError *error)
{
    const tdBody *body = td_gpu_body(model);
    for (int b = 0; b < model->n_bodies; b++)
    {
        const tdBody *other = &model->bodies[b];
        bool stands = other->parts != NULL && other->unknowns == 0 && other->count == 0;
        if (other != body && !stands)
            return td_gpu_refuse(model, error, other->name,
                                 "the GPU supports scenes of one soft body and rigid bodies that do not move");
    }
    if (body->ops != &td_reduced_ops)
        return td_gpu_refuse(model, error, body->name,
                             "the GPU supports reduced bodies only: give a reduced model ('rom')");
    const tdReduced *reduced = td_reduced_of(body);
    if (reduced->n_u > 0)
        return td_gpu_refuse(model, error, body->name, "nodes of the body are moved, which the GPU does not support");
    if (td_reduced_polynomial(reduced) && reduced->r > TD_GPU_COLUMNS)
        return td_gpu_refuse(model, error, body->name,
                             "the reduced model's polynomials have more columns than the 32 that the GPU supports");
    bool apart = reduced->floating != NULL || td_gpu_collider(model) >= 0;
    if (reduced->r > (apart ? TD_GPU_MODES : TD_GPU_NARROW))
        return td_gpu_refuse(
            model, error, body->name,
            "the reduced model has more modes than the 48 that the GPU supports, 40 where a body is held "
            "and touches nothing");
    for (int b = 0; b < reduced->domain.n_blocks; b++)
    {
        const tdMaterial *material = &reduced->domain.blocks[b].material;
        if (td_gpu_law(material->law) < 0)
            return td_gpu_refuse(
                model, error, material->law->name,
                "the GPU supports the laws 'corotational', 'corotational_lagged', 'stvk', 'neo_hookean' and "
                "'mooney_rivlin'");
        if (material->n_prony > 0)
            return td_gpu_refuse(model, error, body->name, "the GPU does not support viscoelastic materials");
        if (material->mean_dilatation)
            return td_gpu_refuse(model, error, body->name, "the GPU does not support 'formulation: mean_dilatation'");
        if (material->through == TD_THROUGH_HELD)
            return td_gpu_refuse(model, error, body->name, "the GPU does not support plane bodies");
    }
    return TD_OK;
}

bool td_gpu_is_cavity(const tdActuator *actuator)
{
    const tdMeasure *measure = &actuator->measure;
    if (actuator->given->kind != TD_ACTUATOR_CAVITY || measure->kind != TD_MEASURE_VOLUME || measure->n_sets != 1 ||
        measure->sets[0].body < 0)
        return false;
    const tdReducedSet *own = measure->sets[0].data;
    return own->T != NULL;
}

static tdStatus refuse_actuator(const tdModel *model, const tdActuator *actuator, tdError *error)
{
    const tdSceneActuator *given = actuator->given;
    if (!td_gpu_is_cavity(actuator) &&
        (given->kind != TD_ACTUATOR_CABLE || actuator->measure.kind != TD_MEASURE_LENGTH))
        return td_gpu_refuse(model, error, actuator->name,
                             "the only actuators that the GPU supports are cables and the cavities of a body");
    if (given->friction > 0)
        return td_gpu_refuse(model, error, actuator->name, "the GPU does not support friction in cables");
    if (given->drive != TD_DRIVE_EFFORT && given->drive != TD_DRIVE_DISPLACEMENT)
        return td_gpu_refuse(model, error, actuator->name,
                             "the GPU drives actuators by effort (force, pressure) or by displacement (volume)");
    for (int s = 0; s < actuator->measure.n_sets && td_reduced_of(td_gpu_body(model))->floating != NULL; s++)
        if (actuator->measure.sets[s].body < 0)
            return td_gpu_refuse(
                model, error, actuator->name,
                "the GPU does not support cables that tie a body which moves as a whole to a place in space");
    if (actuator->tool >= 0)
        return td_gpu_refuse(model, error, actuator->name, "the GPU does not support tools");
    return TD_OK;
}

// Shapes that the points of a robot meet.
static tdStatus refuse_shape(const tdModel *model, int collider, tdError *error)
{
    tdShape shape;
    tdPose pose;
    if (!td_collide_rigid(model->contact->world, collider, &shape, &pose))
        return td_gpu_refuse(model, error, "contact",
                             "the GPU does not support contact of soft bodies with each other");
    if (shape.type != TD_SHAPE_PLANE && shape.type != TD_SHAPE_SPHERE && shape.type != TD_SHAPE_CAPSULE &&
        shape.type != TD_SHAPE_BOX)
        return td_gpu_refuse(model, error, model->bodies[model->contact->colliders[collider].body].name,
                             "the GPU supports contact with planes, spheres, capsules and boxes only");
    return TD_OK;
}

static tdStatus refuse_contact(const tdModel *model, tdError *error)
{
    const tdBody *body = td_gpu_body(model);
    const tdReduced *reduced = td_reduced_of(body);
    int own = td_gpu_collider(model);
    if (model->contact_solver != TD_CONTACT_SAP)
        return td_gpu_refuse(model, error, "contact", "the GPU solves the convex contact problem only");
    if (reduced->enriched && own >= 0)
        return td_gpu_refuse(model, error, body->name,
                             "the GPU does not support the local flexibility that a model trained without contact has "
                             "where it touches: train it with contact, or set 'enrichment: false'");
    for (int i = 0; i < td_collide_colliders(model->contact->world); i++)
    {
        if (model->contact->colliders[i].body == body->index && td_collide_may_meet(model->contact->world, i, i))
            return td_gpu_refuse(model, error, body->name, "the GPU does not support contact of a body with itself");
        if (own >= 0 && i != own && td_collide_may_meet(model->contact->world, own, i))
            TD_TRY(refuse_shape(model, i, error));
    }
    return TD_OK;
}

static tdStatus refuse_scene(const tdModel *model, tdError *error)
{
    if (model->scheme.method != TD_METHOD_THETA || model->scheme.theta != 1 || model->scheme.theta_vq != 1)
        return td_gpu_refuse(model, error, "integrator", "the GPU supports backward Euler only");
    if (model->settings.newton)
        return td_gpu_refuse(model, error, "newton", "the GPU supports one linearization per step only");
    if (model->n_attachments > 0 || model->n_couplings > 0)
        return td_gpu_refuse(model, error, "attachments", "the GPU does not support attachments and couplings");
    if (model->touches)
        TD_TRY(refuse_contact(model, error));
    if (model->n_tools > 0 || model->n_sensors > 0)
        return td_gpu_refuse(model, error, model->n_tools > 0 ? "tools" : "sensors",
                             "the GPU does not support tools and sensors");
    for (int e = 0; e < model->n_effectors; e++)
        if (model->effectors[e].given->has_target)
            return td_gpu_refuse(model, error, model->effectors[e].name,
                                 "the GPU does not support inverse control (target)");
    if (model->n_actuators > TD_GPU_ACTUATORS)
        return td_gpu_refuse(model, error, "actuators",
                             "the scene has more actuators than the 16 that the GPU supports");
    for (int a = 0; a < model->n_actuators; a++)
        TD_TRY(refuse_actuator(model, &model->actuators[a], error));
    return TD_OK;
}

tdStatus td_gpu_check(const tdModel *model, tdError *error)
{
    TD_TRY(refuse_body(model, error));
    return refuse_scene(model, error);
}
