# SPDX-License-Identifier: Apache-2.0

# container_state ROOT ID PID ANNOTATIONS: writes the hook's record of a container with this process; the
# annotations are members of a JSON object.
container_state() {
	mkdir -p "$1/containers/$2"
	printf '{"pid":%d,"boot_id":"%s","start_time":%d,"annotations":{%s}}' "$3" \
		"$(cat /proc/sys/kernel/random/boot_id)" "$(sed 's/.*) //' "/proc/$3/stat" | cut -d' ' -f20)" "$4" \
		>"$1/containers/$2/state.json"
}
