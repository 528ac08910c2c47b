# Cargo.lock to lines of name, version, source and checksum; "-" stands for what is not there.

function flush_package() {
    if (name != "") {
        print name "\t" version "\t" (source == "" ? "-" : source) "\t" (checksum == "" ? "-" : checksum)
    }
    name = version = source = checksum = ""
}

function text(line) {
    sub(/^[^"]*"/, "", line)
    sub(/"[^"]*$/, "", line)
    return line
}

/^\[/ { flush_package(); inside = ($0 == "[[package]]"); next }
inside && /^name = /     { name = text($0) }
inside && /^version = /  { version = text($0) }
inside && /^source = /   { source = text($0) }
inside && /^checksum = / { checksum = text($0) }
END { flush_package() }
