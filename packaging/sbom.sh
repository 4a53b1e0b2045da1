#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# sbom.sh VERSION MAPS FILE…: prints what these programs are made of, as SPDX 2.3 in JSON: their checksums, and the
# Debian packages of what the linker read into them (MAPS/<program>.map, of ld -Map), of the libraries that they load,
# and of the tools that made them. What those libraries load is said by their own packages. The same programs on the
# same system give the same text; SOURCE_DATE_EPOCH is its date. Where dpkg knows no owner, a file stands for itself.
set -eu
export LC_ALL=C
version=$1 maps=$2
shift 2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
here=$(pwd -P)

# ---- what is in a program: lines "PROGRAM RELATION FILE" -----------------------------------

# Of the system: start files, and archives of which it has members.
linked() { sed -n 's/^LOAD \(\/.*\.o\)$/\1/p; s/^\(\/.*\.a\)(.*/\1/p' "$1" | grep -v "^$here/" | xargs -r realpath | sort -u; }
# Each shared file that the linker read, and that the program needs by name.
loaded() {
	readelf -d "$2" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' >"$work/needed"
	sed -n 's/^LOAD \(.*\.so[.0-9]*\)$/\1/p' "$1" | xargs -r realpath | sort -u | while read -r library; do
		soname=$(readelf -d "$library" 2>/dev/null | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')
		! grep -qxF "${soname:-/}" "$work/needed" || echo "$library"
	done
}
parts_of() {
	name=${1##*/} map=$maps/${1##*/}.map
	case $name in
	*.squashfs) unsquashfs -l -d '' "$1" | sed -n "s/^\\//$name CONTAINS /p" && return ;;
	esac
	[ -e "$map" ] || { echo "sbom.sh: no $map: link $1 again" >&2; exit 1; }
	linked "$map" | sed "s/^/$name STATIC_LINK /"
	loaded "$map" "$1" | sed "s/^/$name DYNAMIC_LINK /"
}
tools() {
	for tool in ${CC:-gcc} as ld ar make mksquashfs ${STATIC_CC:-}; do
		tool=$(command -v "$tool") || continue # an option of $CC
		echo "SPDXRef-dfg BUILD_TOOL_OF $(realpath "$tool")"
	done
}

# ---- whose it is ---------------------------------------------------------------------------

# Packages may name a file without the /usr that /lib links to.
owners() { sed -n 's/.* \(\/.*\)/\1/p' "$1" | sort -u | sed 'p; s/^\/usr//' | xargs dpkg-query -S 2>/dev/null || :; }
installed() {
	dpkg-query -W -f '${binary:Package} ${Package} ${Version} ${Architecture} ${source:Package} ${source:Version}\n' \
		2>/dev/null || :
}
# Elements for packages and relations between them and programs, from the three lists.
elements() {
	awk -v packages="$work/packages" -v relations="$work/relations" '
	function id(kind, name) { gsub(/[^A-Za-z0-9.]/, "-", name); return "SPDXRef-" kind "-" name }
	function file(path) { sub(/^\/usr/, "", path); return path }
	function escaped(text) { gsub(/\+/, "%2B", text); gsub(/:/, "%3A", text); gsub(/~/, "%7E", text); return text }
	function relation(from, how, to) {
		printf "{\"spdxElementId\":\"%s\",\"relationshipType\":\"%s\",\"relatedSpdxElement\":\"%s\"}\n", from, how, to >relations
	}
	function package(path,    p, name) {
		p = owner[file(path)]
		name = p ? name_of[p] : path
		sub(/.*\//, "", name)
		printf "{\"SPDXID\":\"%s\",\"name\":\"%s\",\"downloadLocation\":\"NOASSERTION\",\"filesAnalyzed\":false%s}\n",
			id("Package", name), name, p ? said_of[p] : "" >packages
		return id("Package", name)
	}
	FNR == 1 { list++ }
	list == 1 {
		name_of[$1] = $2
		said_of[$1] = ",\"versionInfo\":\"" $3 "\",\"sourceInfo\":\"built from " $5 " " $6 "\",\"externalRefs\":[{" \
			"\"referenceCategory\":\"PACKAGE-MANAGER\",\"referenceType\":\"purl\",\"referenceLocator\":" \
			"\"pkg:deb/debian/" escaped($2) "@" escaped($3) "?arch=" $4 "\"}]"
	}
	list == 2 && !/^diversion/ { owner[file($2)] = substr($1, 1, length($1) - 1) }
	list == 3 && $2 == "CONTAINS" { relation(id("File", $1), $2, id("File", $3)) }
	list == 3 && $2 ~ /_LINK$/ { relation(id("File", $1), $2, package($3)) }
	list == 3 && $2 == "BUILD_TOOL_OF" { relation(package($3), $2, $1) }' "$@"
}

# ---- the document --------------------------------------------------------------------------

list() { sort -u | sed '$!s/$/,/'; }
describe() { # FILE
	id=SPDXRef-File-$(printf %s "${1##*/}" | tr -c 'A-Za-z0-9.' -)
	sha1=$(sha1sum <"$1" | cut -c1-40)
	echo "$sha1" >>"$work/sha1"
	printf '{"SPDXID":"%s","fileName":"./%s","fileTypes":["BINARY"],"checksums":[%s"%s"},%s"%s"}]}\n' "$id" "${1##*/}" \
		'{"algorithm":"SHA1","checksumValue":' "$sha1" \
		'{"algorithm":"SHA256","checksumValue":' "$(sha256sum <"$1" | cut -c1-64)" >>"$work/files"
	printf '{"spdxElementId":"SPDXRef-dfg","relationshipType":"CONTAINS","relatedSpdxElement":"%s"}\n' "$id" >>"$work/relations"
}

for program; do parts_of "$program"; done >"$work/parts"
tools >>"$work/parts"
owners "$work/parts" >"$work/owners"
installed >"$work/installed"
elements "$work/installed" "$work/owners" "$work/parts"
for program; do describe "$program"; done
cat >>"$work/relations" <<END
{"spdxElementId":"SPDXRef-DOCUMENT","relationshipType":"DESCRIBES","relatedSpdxElement":"SPDXRef-dfg"}
END
cat >>"$work/packages" <<END
{"SPDXID":"SPDXRef-dfg","name":"dfg","downloadLocation":"NOASSERTION","filesAnalyzed":true,"versionInfo":"$version","licenseDeclared":"Apache-2.0","packageVerificationCode":{"packageVerificationCodeValue":"$(sort "$work/sha1" | tr -d '\n' | sha1sum | cut -c1-40)"}}
END
cat <<END
{"spdxVersion":"SPDX-2.3","dataLicense":"CC0-1.0","SPDXID":"SPDXRef-DOCUMENT","name":"dfg-$version",
"documentNamespace":"https://spdx.org/spdxdocs/dfg-$version-$(cat "$work"/packages "$work"/files "$work"/relations | sort -u | sha256sum | cut -c1-32)",
"creationInfo":{"created":"$(date -u -d "@${SOURCE_DATE_EPOCH:-0}" +%Y-%m-%dT%H:%M:%SZ)","creators":["Tool: dfg-sbom-$version"]},
"packages":[
$(list <"$work/packages")
],"files":[
$(list <"$work/files")
],"relationships":[
$(list <"$work/relations")
]}
END
