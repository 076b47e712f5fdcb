#!/bin/sh
# Writes the passwords, keys and certificate that the compose files mount: see docs/reference/operating.md.
#   docker/init.sh [HOST]
# HOST is the name or address of the proxy for devices (default: localhost). The script overwrites nothing. It needs
# openssl, but no image.
set -eu

host=${1-localhost}
case "$#:$host" in
[01]:*[!A-Za-z0-9.:-]* | [01]: | [01]:-* | [!01]:*)
    echo "usage: init.sh [HOST]" >&2
    exit 2
    ;;
esac
command -v openssl >/dev/null || {
    echo "init.sh: openssl is missing: install it" >&2
    exit 1
}
cd "$(dirname "$0")"

# The files of a set contain the same secret, so a new file would not match an old one.
is_missing() {
    present=
    absent=
    for file; do
        if [ -e "$file" ]; then present="$present $file"; else absent="$absent $file"; fi
    done
    if [ -n "$present" ] && [ -n "$absent" ]; then
        echo "init.sh:$present exist, but not$absent: move the existing files away, or write the missing ones yourself" >&2
        exit 1
    fi
    if [ -n "$present" ]; then echo "kept$present"; fi
    [ -z "$present" ]
}

# Containers read the files as users of their own, so everybody may read a file. Only the owner may enter `secrets`.
write() {
    (umask 022 && set -C && cat >"$1")
    echo "wrote $1"
}

secret() {
    openssl rand -hex 32
}

# The folder config is mounted as a whole, and contains no secret.
[ -d config ] || mkdir -m 0755 config
[ -d secrets ] || mkdir -m 0700 secrets

if is_missing secrets/store_users secrets/store_url secrets/backup_url secrets/restore_url secrets/store_replication; then
    collector=$(secret)
    backup=$(secret)
    restore=$(secret)
    replica=$(secret)
    admin=$(secret)
    # The program is passed on standard input, because everybody can read a command line.
    write secrets/store_users <<END
$(sed -f - users.example.acl <<RULES
s/COLLECTOR_PASSWORD/$collector/
s/BACKUP_PASSWORD/$backup/
s/RESTORE_PASSWORD/$restore/
s/REPLICA_PASSWORD/$replica/
s/ADMIN_PASSWORD/$admin/
RULES
)
END
    echo "redis://hearsay:$collector@store:6379" | write secrets/store_url
    echo "redis://backup:$backup@store:6379" | write secrets/backup_url
    echo "redis://restore:$restore@store:6379" | write secrets/restore_url
    printf 'primaryuser replica\nprimaryauth %s\n' "$replica" | write secrets/store_replication
fi

if is_missing config/access.toml secrets/read_token; then
    token=$(secret)
    digest=$(printf %s "$token" | openssl dgst -sha256 -r)
    write config/access.toml <<END
# Who may report, and who reads the tallies: docs/reference/access.md.
uploads = "open"

[[key]]
name = "report"
role = "read"
sha256 = "${digest%% *}"
END
    echo "$token" | write secrets/read_token
fi

if is_missing secrets/grafana_password; then
    secret | write secrets/grafana_password
fi

if is_missing secrets/tls_certificate secrets/tls_key; then
    kind=DNS
    case $host in
    *:* | *[0-9].*[0-9]) case $host in *[!0-9a-fA-F.:]*) ;; *) kind=IP ;; esac ;;
    esac
    key=$(openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256)
    certificate=$(echo "$key" | openssl req -new -x509 -key /dev/stdin -days 365 -subj "/CN=$host" -addext "subjectAltName=$kind:$host")
    echo "$certificate" | write secrets/tls_certificate
    echo "$key" | write secrets/tls_key
    echo "The certificate is self-signed, so no device trusts it: replace both files with those of a certificate authority."
fi

[ -e config/metrics.toml ] || echo "Missing: config/metrics.toml, the registry. hearsay-client init writes one to start with."
