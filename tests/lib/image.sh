# SPDX-License-Identifier: Apache-2.0
# The Debian package, and a Debian 12 in which it is installed. Source it after tap.sh.
#
#   image_deb     builds the package unless it is there; its path in $DEB
#   image_root    makes examples/kubernetes/image.sh's root file system unless it is there; its path in
#                 $IMAGE, to be left as it is
# Both stay in $BUILD, for good: a change of the sources since makes them anew.
image_deb() { (lock deb && image_make_deb) && image_set; }
image_root() { (lock image && image_make_root) && image_set; }
image_set() {
	DEB=$BUILD/deb/dfg_$(cat "$TOP/VERSION")_$(dpkg --print-architecture).deb
	IMAGE=$BUILD/image
}

image_make_deb() {
	image_set
	[ -z "$(find "$TOP"/{Makefile,hook,host,hotspot,common,include,injector,agent-jni,packaging,docs/man} \
		-newer "$DEB" -print -quit 2>/dev/null || echo none)" ] && [ -e "$DEB" ] ||
		make -s -C "$TOP" deb BUILD="${BUILD#"$TOP"/}" >"$BUILD/deb.log" 2>&1 || { tail -n 5 "$BUILD/deb.log"; return 1; }
}

image_make_root() {
	image_deb || return
	[ ! "$DEB" -nt "$IMAGE" ] && return
	rm -rf "$IMAGE"
	"$TOP/examples/kubernetes/image.sh" "$IMAGE" "$DEB" >"$BUILD/image.log" 2>&1 || { tail -n 5 "$BUILD/image.log"; return 1; }
	touch "$IMAGE"
}
