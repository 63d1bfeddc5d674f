// SPDX-License-Identifier: Apache-2.0
// The XML side of a VTU file: a small tree of elements by libxml2, and the texts of its DataArrays.
//
// Texts of arrays are kept out of libxml2's tree: they may be larger than the 10 MB that it allows
// for a text, and lifting that limit would lift its guards against hostile files with it. Appended
// raw data is not XML at all, so the file is cut at <AppendedData> before it is parsed.
#pragma once
#include "base/file.h"
#include <libxml/parser.h>

typedef struct tdVtuElement
{
    int line;
    int64_t text, length; ///< of a DataArray: its place in tdVtuXml.text
} tdVtuElement;

typedef struct tdVtuXml
{
    xmlParserCtxtPtr context;
    xmlDocPtr document;
    int64_t n_elements, capacity;
    tdVtuElement *element;
    tdText text;
    const char *appended, *appended_end; ///< bytes behind the '_'; NULL if there are none
    bool doctype, nested, failed;        ///< why parsing was stopped
    int error_line;
    char error[200];
} tdVtuXml;

/// Zero-initialize *xml; td_vtu_xml_free() also on failure.
tdStatus td_vtu_xml_read(tdVtuXml *xml, const char *data, size_t size, const char *name, tdError *error);
void td_vtu_xml_free(tdVtuXml *xml);

bool td_vtu_is(const xmlNode *node, const char *name);               ///< an element with this name
const char *td_vtu_attribute(const xmlNode *node, const char *name); ///< NULL if missing
const tdVtuElement *td_vtu_element(const tdVtuXml *xml, const xmlNode *node);
