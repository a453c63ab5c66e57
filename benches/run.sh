#!/usr/bin/env bash
# How fast logs are read, against the tools that people grep with, all in one run on the same files. Prints
# Markdown: the tables of BENCHMARKS.md. Needs hyperfine, ripgrep, gzip and GNU time, and 13 GB of disk for all of it.
#
#   benches/run.sh [FOLDER]      logs are made there [default: target/bench]; MB=200 for smaller ones, TEN=0 without 10 GB
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$(realpath -m "${1:-target/bench}")
mb=${MB:-1000}
mkdir -p "$folder"
cargo build --profile dist --quiet
cargo bench --quiet --bench logs --no-run
logs() { cargo bench --quiet --bench logs -- "$@"; }
doctor=$(realpath target/dist/plegdoctor)
look=(diagnose --no-docker --no-host --now 2026-11-30T04:00:00Z)
results=$folder/results.json

# The literals of plegdoctor's own screen; a test holds the two against each other.
phrases=$(realpath benches/phrases)

make() { # NAME KIND MEGABYTES
    [ -s "$folder/$1" ] || logs "$2" "$3" > "$folder/$1"
}

# Runs the commands given as pairs of a name and a command, after reading the file once; prints a table in which
# every time is also told as a multiple of the first.
table() { # FILE NAME COMMAND…
    local file=$1 names=() commands=() arguments=()
    shift
    cat "$file" > /dev/null
    while [ $# -gt 0 ]; do
        names+=("$1")
        commands+=("$2")
        arguments+=(--command-name "$1" "$2")
        shift 2
    done
    # Through a pipe: grep ends at its first match when it writes to /dev/null.
    hyperfine --shell=bash --warmup 1 --runs "${RUNS:-7}" --ignore-failure --output=pipe --export-json "$results" "${arguments[@]}" > /dev/null 2>&1
    echo '| | median | ± | ratio | peak memory |'
    echo '|---|---|---|---|---|'
    local base at median spread peak
    base=$(jq -r '.results[0].median' "$results")
    for at in "${!names[@]}"; do
        median=$(jq -r ".results[$at].median" "$results")
        spread=$(jq -r ".results[$at].stddev" "$results")
        # The largest process of a pipeline.
        peak=$({ bash -c "exec /usr/bin/time -f '%M kB' bash -c '${commands[$at]//\'/\'\\\'\'}' | cat > /dev/null" 2>&1 || true; } | grep -o '[0-9]* kB' | tail -1)
        awk -v n="${names[$at]}" -v m="$median" -v s="$spread" -v b="$base" -v p="$peak" \
            'BEGIN { printf "| %s | %.3f s | %.3f s | %.2f | %.1f MiB |\n", n, m, s, m / b, p / 1024 }'
    done
    echo
}

echo "$(rg --version | head -1), $(grep --version | head -1), $(wc --version | head -1), $(zcat --version | head -1), plegdoctor $("$doctor" --version | cut -d' ' -f2); $(nproc) cores: $(awk -F': ' '/model name/ { print $2; exit }' /proc/cpuinfo); Linux $(uname -r); $(rustc --version)"
echo
echo "$(wc -l < "$phrases") literals, each within a line"
echo

for kind in mild flood fresh; do
    make "$kind" "$kind" "$mb"
    file=$folder/$kind
    echo "### $kind, $(stat -c %s "$file" | awk '{ printf "%.0f MB", $1 / 1e6 }'), $(wc -l < "$file") lines"
    echo
    table "$file" \
        'wc -l' "wc -l $file" \
        'plegdoctor diagnose' "$doctor ${look[*]} --log $file" \
        'plegdoctor diagnose --threads 1' "$doctor ${look[*]} --threads 1 --log $file" \
        'rg -c -F -f, the same literals' "rg -c -F -f $phrases $file" \
        'rg -c -F -f -j 1, the same literals' "rg -j 1 -c -F -f $phrases $file" \
        'grep -c -F -f, the same literals' "grep -c -F -f $phrases $file"
done

echo "### gzip, mild"
echo
gzip -k -f -6 "$folder/mild"
file=$folder/mild.gz
table "$file" \
    'zcat > /dev/null' "zcat $file > /dev/null" \
    'plegdoctor diagnose' "$doctor ${look[*]} --log $file" \
    'zcat \| rg' "zcat $file | rg -c -F -f $phrases"

echo "### gzip, mild, in eight files"
echo
mkdir -p "$folder/eight"
split -n l/8 -d "$folder/mild" "$folder/eight/kubelet.log."
gzip -f -6 "$folder"/eight/kubelet.log.0[0-7]
file=$folder/mild.gz
table "$file" \
    'zcat > /dev/null' "zcat $folder/eight/*.gz > /dev/null" \
    'plegdoctor diagnose' "$doctor ${look[*]} --log $folder/eight" \
    'zcat \| rg' "zcat $folder/eight/*.gz | rg -c -F -f $phrases"

echo "### Other forms"
echo
for kind in json structured journal long; do
    make "$kind" "$kind" $((mb / 4))
    file=$folder/$kind
    echo "$kind, $(stat -c %s "$file" | awk '{ printf "%.0f MB", $1 / 1e6 }'):"
    echo
    table "$file" \
        'wc -l' "wc -l $file" \
        'plegdoctor diagnose' "$doctor ${look[*]} --log $file" \
        'rg -c -F -f, the same literals' "rg -c -F -f $phrases $file"
done

echo "### Events, as NDJSON"
echo
for kind in mild flood; do
    make "quarter-$kind" "$kind" $((mb / 4))
    file=$folder/quarter-$kind
    echo "$kind, $(stat -c %s "$file" | awk '{ printf "%.0f MB", $1 / 1e6 }'):"
    echo
    table "$file" \
        'rg -F -f, the same literals' "rg -F -f $phrases $file" \
        'plegdoctor events' "$doctor events --no-docker --now 2026-11-30T04:00:00Z --log $file"
done

echo "### A journal, mild"
echo
remote=/usr/lib/systemd/systemd-journal-remote
if [ -x "$remote" ]; then
    make entries mild $((mb / 20))
    # In a folder: journald begins a new file where one gets large.
    journal=$folder/journals
    [ -d "$journal" ] || { mkdir "$journal" && awk '{ printf "__REALTIME_TIMESTAMP=%d\n_HOSTNAME=worker-3\n_SYSTEMD_UNIT=kubelet.service\nSYSLOG_IDENTIFIER=kubelet\n_BOOT_ID=0123456789abcdef0123456789abcdef\nMESSAGE=%s\n\n", 1796000000000000 + NR * 5000, $0 }' "$folder/entries" \
        | "$remote" --output="$journal/mild.journal" - > /dev/null 2>&1; }
    ask="journalctl --directory=$journal --unit=kubelet --no-pager --all"
    literals=$folder/literals
    sed 's/[][*^$.()+?{|\\]/\\&/g' "$phrases" | paste -sd'|' > "$literals"
    echo "$(journalctl --version | head -1), $(wc -l < "$folder/entries") entries:"
    echo
    table "$folder/entries" \
        'journalctl' "$ask -o short-iso" \
        'journalctl \| grep, the same literals' "$ask -o short-iso | grep -c -F -f $phrases" \
        'journalctl \| plegdoctor' "$ask -o short-iso | $doctor ${look[*]} --log -" \
        'plegdoctor diagnose --journal-from' "$doctor ${look[*]} --journal-from $journal" \
        'journalctl --grep, the same literals' "$ask -o short-iso --case-sensitive --grep \"\$(cat $literals)\"" \
        'journalctl --grep, one literal' "$ask -o short-iso --case-sensitive --grep PLEG" \
        'journalctl -o json, the message only' "$ask -o json --output-fields=MESSAGE"
else
    echo "not measured: $remote is not installed"
    echo
fi

echo "### Nothing to read"
echo
: > "$folder/empty"
table "$folder/empty" \
    'true' "/bin/true" \
    'plegdoctor diagnose' "$doctor ${look[*]} --log $folder/empty"

echo "### Size"
echo
echo 'Mild; ratio to the smallest.'
echo
make mild-tenth mild $((mb / 10))
sizes=("$((mb / 10)) MB" "$doctor ${look[*]} --log $folder/mild-tenth" "$mb MB" "$doctor ${look[*]} --log $folder/mild")
if [ "${TEN:-1}" != 0 ]; then
    make mild-ten mild $((mb * 10))
    sizes+=("$((mb * 10)) MB" "$doctor ${look[*]} --log $folder/mild-ten")
    sizes+=("$((mb * 10)) MB, --since 1h" "$doctor ${look[*]} --since 1h --log $folder/mild-ten")
fi
RUNS=3 table "$folder/mild" "${sizes[@]}"

echo "### Share of lines of interest"
echo
shares=()
for every in 100000 1000 100 10 2 1; do
    make "share-$every" "share-$every" $((mb / 4))
    shares+=("1 in $every" "$doctor ${look[*]} --log $folder/share-$every")
done
table "$folder/share-1" "${shares[@]}"

echo "### Threads"
echo
threads=()
for number in 1 2 4 8; do
    [ "$number" -le "$(nproc)" ] || continue
    threads+=("$number" "$doctor ${look[*]} --threads $number --log $folder/mild")
done
table "$folder/mild" "${threads[@]}"
