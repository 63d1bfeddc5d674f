# SPDX-License-Identifier: Apache-2.0
# From a page of the site to entries of its index for the search: one for each heading, with the text below it.
# Variables: target (place of the page), title.
function plain(text) {
    gsub(/<[^>]*>/, " ", text)
    gsub(/&lt;/, "<", text)
    gsub(/&gt;/, ">", text)
    gsub(/&quot;/, "\"", text)
    gsub(/&amp;/, "\\&", text)
    gsub(/[ \t]+/, " ", text)
    return text
}
function quoted(text) {
    gsub(/\\/, "\\\\", text)
    gsub(/"/, "\\\"", text)
    gsub(/[\001-\037]/, " ", text)
    return "\"" text "\""
}
function flush() {
    if (heading != "" || text != "")
        printf "{u: %s, t: %s, s: %s},\n", quoted(target (anchor != "" ? "#" anchor : "")), \
            quoted(title (heading != "" && heading != title ? ": " heading : "")), quoted(substr(text, 1, 4000))
    text = ""
}
/<nav|<\/nav/ {toc = $0 ~ /<nav/; next}
toc {next}
match($0, /<h[1-4] id="[^"]*"/) {
    flush()
    anchor = substr($0, RSTART + 8, RLENGTH - 9)
    heading = plain($0)
    sub(/ *# *$/, "", heading) # the link to itself
    gsub(/^ +| +$/, "", heading)
    next
}
{text = text plain($0) " "}
END {flush()}
