// SPDX-License-Identifier: Apache-2.0
// XML documents through libxml2, and the few questions that readers ask of their nodes.
#pragma once
#include "base/status.h"

#include <libxml/tree.h>

#define TD_XML_BYTES (512 << 20) // most bytes of a document

/// A document in memory; text[size] must be a zero byte. Document types are refused: they could define entities, which
/// could grow without end or read other files. Nothing is fetched. *out is released by xmlFreeDoc(), also on failure.
tdStatus td_xml_parse(const char *text, size_t size, const char *file, xmlDoc **out, tdError *error);

/// Refuses what stands in the place of a large file where Git LFS has not fetched it.
tdStatus td_refuse_pointer(const char *data, size_t size, const char *file, tdError *error);

int td_xml_line(const xmlNode *node);
bool td_xml_is(const xmlNode *node, const char *name); ///< an element of this name
/// The first child element of this name, NULL: none.
const xmlNode *td_xml_child(const xmlNode *node, const char *name);
/// Whether a word is in a list of words, "a b c".
bool td_xml_listed(const char *list, const char *word);
