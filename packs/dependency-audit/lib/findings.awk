# Findings of one kind (-v kind=) among the packages: first the policy, then out/packages.tsv.
# Prints a line a finding: "open" or "accepted", the package, what was found, the reason.

BEGIN { FS = "\t" }

function found(package, what,    reason) {
    reason = accepted[package]
    print (reason == "" ? "open" : "accepted") "\t" package "\t" what "\t" (reason == "" ? "-" : reason)
}

# The rest of a line behind its first `words` words.
function behind(line, words) {
    while (words-- > 0) {
        sub(/^[ \t]*[^ \t]+/, "", line)
    }
    sub(/^[ \t]+/, "", line)
    return line
}

FNR == NR {
    split($0, word, /[ \t]+/)
    if (word[1] == "accept" && word[2] == kind) {
        accepted[word[3]] = behind($0, 3)
    } else if (word[1] == "registry" && behind($0, 2) != "") {
        registry[word[2]] = 1
    }
    next
}

kind == "duplicate" {
    if (count[$1]++ == 0) {
        order[++names] = $1
    }
    versions[$1] = versions[$1] (count[$1] == 1 ? "" : ", ") $2
}

# A package without a source is a member of the workspace itself.
kind == "source" && $3 != "-" && !($3 in registry) {
    found($1, $2 " from " $3)
}

kind == "checksum" && $3 ~ /^registry\+/ && $4 == "-" {
    found($1, $2 " has no checksum")
}

# What a registry withdrew cannot be seen in a lock file; what is likely to be can.
# Build metadata (behind "+") says nothing of it.
kind == "withdrawn" && $3 ~ /^registry\+/ {
    split($2, part, "+")
    if (part[1] ~ /-|^0\.0\.0$/) {
        found($1, $2 " is a pre-release or a placeholder")
    }
}

END {
    if (kind == "duplicate") {
        for (i = 1; i <= names; i++) {
            if (count[order[i]] > 1) {
                found(order[i], count[order[i]] " versions: " versions[order[i]])
            }
        }
    }
}
