# SPDX-License-Identifier: Apache-2.0
# From the public headers to a page: sections as the header has them, each declaration with its comment before it.
# A block of "///" lines or of "//" lines is text; what follows up to the ";" or the closing brace is the declaration.
function flush_text() {
    if (text != "")
        print text "\n"
    text = ""
    drawn = 0
}
function flush_code() {
    sub(/\n+$/, "", code)
    if (code != "")
        print "```c\n" code "\n```\n"
    code = ""
}
FNR == 1 {
    flush_code(); flush_text()
    print (NR == 1 ? "# API of the library\n\nMade from the headers.\n" : "")
    print "## `#include <tendril/" substr(FILENAME, match(FILENAME, /[^\/]*$/)) ">`\n"
    depth = 0
}
/SPDX|^#|extern "C"|^ *$/ && depth == 0 && code == "" {
    if ($0 ~ /^ *#define TD_[A-Z_]+ /) {flush_text(); sub(/^ */, ""); code = $0 "\n"}
    else if ($0 ~ /^ *$/) flush_text()
    next
}
/^[{}] *$/ && depth == 0 {next}
/^ *\/\/ -+ [a-z]/ {flush_code(); flush_text(); name = $0; sub(/^ *\/\/ -+ /, "", name); print "### " toupper(substr(name, 1, 1)) substr(name, 2) "\n"; next}
/^ *\/\/\/?/ && depth == 0 {
    if (code != "") {flush_code(); flush_text()}
    line = $0
    sub(/^ *\/\/\/? ?/, "", line)
    # What is set in by two blanks or more stays as it is: a figure, a list, an equation.
    indented = line ~ /^  +[^ ]/
    if (indented)
        sub(/^  ? ?/, "    ", line)
    else
        gsub(/</, "\\&lt;", line)
    text = text (indented != drawn && text != "" ? "\n" : "") line "\n"
    drawn = indented
    next
}
{
    if (code == "")
        flush_text()
    line = $0
    sub(/^    /, "", line)
    code = code line "\n"
    bare = line
    sub(/\/\/.*/, "", bare)
    depth += gsub(/\{/, "{", bare) - gsub(/\}/, "}", bare)
    if (depth == 0 && bare ~ /;[ \t]*$/)
        more = 1
    else
        more = 0
}
more && depth == 0 {flush_code(); more = 0}
END {flush_code(); flush_text()}
