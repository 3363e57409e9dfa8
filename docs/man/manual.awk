# Makes the manual page coffer(1) in mdoc(7) from the output of “coffer --experimental-dump-help”.
#
#   awk -v version=0.1.0 -v date='June 1, 2026' -v end=docs/man/manual-end.mdoc -f docs/man/manual.awk help.json
#
# Expects the JSON as printed there: one value on each line. Fails if it does not contain the exit codes.

# MARK: Reading. Every value goes into value[path]; a path is “.command.arguments.0.kind”.

function unquote(text) {
    sub(/^"/, "", text)
    sub(/"$/, "", text)
    gsub(/\\\\/, "\001", text)
    gsub(/\\n/, "\n", text)
    gsub(/\\t/, " ", text)
    gsub(/\\/, "", text)
    gsub(/\001/, "\\", text)
    return text
}

function path_of_next() {
    return path[depth] "." (is_list[depth] ? count[depth]++ : key)
}

{
    line = $0
    sub(/^ +/, "", line)
    sub(/,$/, "", line)
    key = ""
    if (match(line, /^"[A-Za-z]+" : /)) {
        key = substr(line, 2, RLENGTH - 5)
        line = substr(line, RLENGTH + 1)
    }
    if (line == "{" || line == "[") {
        here = depth ? path_of_next() : ""
        depth++
        path[depth] = here
        is_list[depth] = line == "["
        count[depth] = 0
        value[here] = line
    } else if (line == "}" || line == "]") {
        if (is_list[depth]) size[path[depth]] = count[depth]
        depth--
    } else if (line != "") {
        value[path_of_next()] = unquote(line)
    }
}

# MARK: Writing.

# Escapes text for mdoc, so that none of its lines is taken for a request.
function escape(text) {
    gsub(/\\/, "\\e", text)
    gsub(/“/, "\\(lq", text)
    gsub(/”/, "\\(rq", text)
    gsub(/…/, "...", text)
    gsub(/—/, "\\(em", text)
    gsub(/-/, "\\-", text)
    gsub(/\n\n+/, "\n.Pp\n", text)
    if (text ~ /^[.']/) text = "\\\\&" text
    gsub(/\n'/, "\n\\\\\\&'", text)
    return text
}

# Lines that begin with two spaces are examples, and shown as they are.
function say(text,    lines, n, i, plain, is_literal) {
    n = split(text, lines, "\n")
    for (i = 1; i <= n; i++) {
        if (lines[i] ~ /^  /) {
            if (plain != "") { print escape(plain); plain = "" }
            if (!is_literal++) print ".Bd -literal -offset indent"
            print escape(substr(lines[i], 3))
            continue
        }
        if (is_literal) { print ".Ed"; is_literal = 0 }
        plain = plain (plain == "" ? "" : "\n") lines[i]
    }
    if (is_literal) print ".Ed"
    else if (plain != "") print escape(plain)
}

# One argument of a request, quoted if it has spaces.
function word(text) {
    text = escape(text)
    return text ~ /[ ,.]/ ? "\"" text "\"" : text
}

function name_of(at) {
    return value[at ".kind"] == "long" ? "Fl -" value[at ".name"] : "Fl " value[at ".name"]
}

function argument_name(at, text) {
    text = "Ar " word(value[at ".valueName"])
    return value[at ".isRepeating"] == "true" ? text " ..." : text
}

# “Fl f , Fl -foreground”, or “Ar mountpoint”.
function title(at,    short, long, text, i) {
    if (value[at ".kind"] == "positional") return argument_name(at)
    for (i = 0; i < size[at ".names"]; i++) {
        text = name_of(at ".names." i)
        if (value[at ".names." i ".kind"] == "long") long = long " , " text
        else short = short " , " text
    }
    text = substr(short long, 4)
    return value[at ".kind"] == "option" ? text " " argument_name(at) : text
}

function synopsis(at,    text) {
    if (value[at ".kind"] == "positional") text = argument_name(at)
    else {
        text = name_of(at ".preferredName")
        if (value[at ".kind"] == "option") text = text " " argument_name(at)
    }
    print value[at ".isOptional"] == "true" ? ".Op " text : "." text
}

function describe(at,    i, text) {
    print ".It " title(at)
    say(value[at ".abstract"])
    if ((at ".defaultValue") in value) print "The default is", escape(value[at ".defaultValue"]) "."
    if (size[at ".allValues"]) {
        for (i = 0; i < size[at ".allValues"]; i++) text = text (i ? ", " : "") escape(value[at ".allValues." i])
        print "One of:", text "."
    }
    if ((at ".discussion") in value) { print ".Pp"; say(value[at ".discussion"]) }
}

function identity(at) { return title(at) "|" value[at ".abstract"] }
function is_shown(at) { return value[at ".shouldDisplay"] == "true" }

# Collects the commands that do something, those without subcommands, in order into commands[1…].
function collect(at, name,    i, list) {
    name = name (name == "" ? "" : " ") value[at ".commandName"]
    list = at ".subcommands"
    if (!size[list]) {
        if (!is_shown(at) || value[at ".commandName"] == "help") return
        commands[++command_count] = at
        full_name[at] = name
        for (i = 0; i < size[at ".arguments"]; i++) occurrences[identity(at ".arguments." i)]++
    }
    for (i = 0; i < size[list]; i++) collect(list "." i, name)
}

# Whether most commands have the argument. Such an argument is described once for all of them.
function is_common(at) { return occurrences[identity(at)] * 2 > command_count }
function is_about_all(at) { return value[at ".valueName"] == "help" || value[at ".valueName"] == "version" }

function own_arguments(at, want,    i, argument, shown) {
    for (i = 0; i < size[at ".arguments"]; i++) {
        argument = at ".arguments." i
        if (!is_shown(argument) || is_common(argument)) continue
        if (want == "synopsis") synopsis(argument)
        if (want == "describe") {
            if (!shown++) print ".Bl -tag -width 6n"
            describe(argument)
        }
    }
    if (shown) print ".El"
}

function has_common(at,    i, argument) {
    for (i = 0; i < size[at ".arguments"]; i++) {
        argument = at ".arguments." i
        if (is_common(argument) && !is_about_all(argument)) return 1
    }
    return 0
}

function common_arguments(    c, i, argument) {
    for (c = 1; c <= command_count; c++) {
        for (i = 0; i < size[commands[c] ".arguments"]; i++) {
            argument = commands[c] ".arguments." i
            if (is_common(argument) && !described[identity(argument)]++) describe(argument)
        }
    }
}

function exit_status(text,    codes, n, i) {
    print ".Sh EXIT STATUS"
    print "The codes are those of sysexits.h, where it has one."
    print ".Bl -tag -width 6n"
    # Each line after the first has one: “  64  the command line is wrong”.
    n = split(text, codes, "\n")
    for (i = 2; i <= n; i++) {
        if (!match(codes[i], /^ *[0-9]+ +/)) {
            print "manual.awk: no exit code: " codes[i] > "/dev/stderr"
            exit 1
        }
        text = substr(codes[i], 1, RLENGTH)
        gsub(/ /, "", text)
        print ".It " text
        text = substr(codes[i], RLENGTH + 1)
        say(toupper(substr(text, 1, 1)) substr(text, 2) ".")
    }
    print ".El"
}

END {
    root = ".command"
    collect(root, "")
    name = value[root ".commandName"]
    paragraphs = split(value[root ".discussion"], paragraph, /\n\n+/)

    print ".\\\" Made from the definitions of the commands by docs/man/manual.awk; do not edit."
    print ".Dd " date
    print ".Dt " toupper(name) " 1"
    print ".Os " name " " version
    print ".Sh NAME\n.Nm " name
    abstract = value[root ".abstract"]
    sub(/\.$/, "", abstract)
    print ".Nd " escape(abstract)

    print ".Sh SYNOPSIS"
    for (c = 1; c <= command_count; c++) {
        print ".Nm " full_name[commands[c]]
        if (has_common(commands[c])) print ".Op Ar options"
        own_arguments(commands[c], "synopsis")
    }

    print ".Sh DESCRIPTION"
    for (i = 1; i <= paragraphs; i++) {
        if (paragraph[i] ~ /^Exit codes:/) { codes = paragraph[i]; continue }
        # The manual has examples of its own.
        if (paragraph[i] ~ /^Examples:/) continue
        if (i > 1) print ".Pp"
        say(paragraph[i])
    }

    print ".Sh COMMANDS\n.Bl -tag -width 6n"
    for (c = 1; c <= command_count; c++) {
        at = commands[c]
        print ".It Nm " full_name[at]
        say(value[at ".abstract"])
        if (size[at ".aliases"]) print "Also called \\(lq" escape(value[at ".aliases.0"]) "\\(rq."
        if ((at ".discussion") in value) { print ".Pp"; say(value[at ".discussion"]) }
        own_arguments(at, "describe")
    }
    print ".El"

    print ".Sh OPTIONS\nThe commands that open a profile share these; every command has the last two.\n.Bl -tag -width 6n"
    common_arguments()
    print ".El"

    if (codes == "") {
        print "manual.awk: the root command's discussion has no paragraph “Exit codes: …”" > "/dev/stderr"
        exit 1
    }
    exit_status(codes)
    while ((getline line < end) > 0) print line
}
