# JSON on standard input to lines of path, tab, value: {"a": {"b": [1]}} gives "a/b/0<tab>1".
# Strings keep their escapes; an empty object or list gives no line.

{ text = text $0 "\n" }

END { at = 1; value("") }

function blank() {
    while (substr(text, at, 1) ~ /[ \t\r\n]/) at++
}

function string(    start) {
    start = ++at
    while (substr(text, at, 1) != "\"") {
        if (substr(text, at, 1) == "\\") at++
        if (++at > length(text)) exit 1
    }
    return substr(text, start, at++ - start)
}

function value(path,    c, key, index_, start) {
    blank()
    c = substr(text, at, 1)
    if (c == "{" || c == "[") {
        at++
        index_ = 0
        for (blank(); substr(text, at, 1) !~ /[\]}]/; blank()) {
            if (at > length(text)) exit 1
            key = index_++
            if (c == "{") {
                key = string()
                blank()
                at++
            }
            value(path == "" ? key : path "/" key)
            blank()
            if (substr(text, at, 1) == ",") at++
        }
        at++
    } else if (c == "\"") {
        print path "\t" string()
    } else {
        start = at
        while (substr(text, at, 1) ~ /[-+.0-9a-zA-Z]/) at++
        if (at == start) exit 1
        print path "\t" substr(text, start, at - start)
    }
}
