# One Makefile, no recursion but for the sanitizer and clang trees.
#   V=1 prints commands · BUILD= picks the output folder · PREFIX, DESTDIR place the installation
VERSION    := $(shell cat VERSION)
BUILD      ?= build
PREFIX     ?= /usr/local
BINDIR     ?= $(PREFIX)/bin
LIBEXECDIR ?= $(PREFIX)/libexec/dfg
MANDIR     ?= $(PREFIX)/share/man
DOCDIR     ?= $(PREFIX)/share/doc/dfg
COMPDIR    ?= $(PREFIX)/share/bash-completion/completions
TMPFILES   ?= $(PREFIX)/lib/tmpfiles.d
CFLAGS     ?= -O2 -g
PKGCONFIG  ?= pkg-config
# The injector runs in other people's containers: small and static. musl where it is installed.
STATIC_CC  ?= $(shell command -v musl-gcc >/dev/null && echo musl-gcc || echo $(CC))
# musl-gcc does not know -static-pie.
musl_pie   := -nostartfiles -static -Wl,-pie,--no-dynamic-linker \
              $(patsubst %-gnu,/usr/lib/%-musl/rcrt1.o,$(shell $(CC) -print-multiarch))
static_pie  = $(if $(findstring musl,$(STATIC_CC)),$(musl_pie),-static-pie)
STATIC_INC := $(shell command -v musl-gcc >/dev/null && echo -idirafter /usr/include -idirafter /usr/include/$(shell $(CC) -print-multiarch))

warn := -Wall -Wextra -Wshadow -Wconversion -Wsign-conversion -Wundef -Wvla -Wformat=2 \
        -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wwrite-strings $(WERROR)
base  = -std=gnu17 -D_GNU_SOURCE -DDFG_VERSION='"$(VERSION)"' \
        -DDFG_LIBEXECDIR='"$(LIBEXECDIR)"' $(includes) -MMD -MP
arm64 := $(filter aarch64%,$(shell $(CC) -dumpmachine))
# Held by tests/lint/hardening.t. Not -ftrivial-auto-var-init=zero: it takes 5 to 10 % of a replay.
flow := $(if $(arm64),-mbranch-protection=standard,-fcf-protection)
safe := $(flow) -fstack-clash-protection
# The same bytes whichever folder it is built in.
here := -ffile-prefix-map=$(CURDIR)=.
hard := $(safe) $(here) -fstack-protector-strong -fPIE
# After the caller's: Debian's build sets 2.
fort := $(if $(SAN),,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3)
link := -pie -Wl,-z,relro,-z,now,-z,noexecstack,-z,separate-code
# What the linker reads into a program: packaging/sbom.sh.
map   = -Wl,-Map,$(BUILD)/link/$(@F).map

ifneq ($(findstring s,$(firstword -$(MAKEFLAGS))),)
say = @
else ifneq ($(V),1)
say = @printf '  %-7s %s\n' '$(1)' '$(@:$(BUILD)/%=%)';
endif

obj = $(patsubst %.c,$(BUILD)/$(1)/%.o,$(2))
not = $(filter-out %_$(other).c $(1) $(no_bpf),$(wildcard $(2)))
# Files named _x86.c and _arm64.c are of one machine.
other := $(if $(arm64),x86,arm64)

# ---- what is built -------------------------------------------------------------------------
# A folder's objects without its mains form an archive; a program is a main and some archives.
host    := session calltree jfr perf elf jit unwind probe bpf symbols profile format report discover record setup doctor top cmd
folders := common oci hotspot injector hook $(host:%=host/%)
# The recorder in the kernel is left out where one of these is missing. bpftool may be where only root looks.
BPF_CC     ?= clang
BPFTOOL    ?= $(shell PATH=$$PATH:/usr/sbin:/sbin command -v bpftool)
bpf        := $(and $(shell command -v $(BPF_CC)),$(BPFTOOL),$(shell \
              $(PKGCONFIG) --exists libbpf && echo libbpf))
no_bpf     := $(if $(bpf),host/bpf/recording_none.c,$(patsubst %,host/bpf/%.c,walker recorder recorder_wall copy_ring probe_events recording recording_clock recording_serve recording_processes recording_builders recording_list) tests/tools/walkcompare.c tests/unit/test_copy_ring.c tests/unit/test_stack_recorder.c tests/unit/test_stack_probes.c tests/unit/test_stack_locks.c tests/unit/test_stack_safepoints.c)
mains   := hook/main.c hook/runtime.c injector/main.c host/kernel/node.bpf.c host/kernel/walk.bpf.c $(patsubst %,host/cmd/%.c,trigger top diff merge doctor setup push)
archive  = $(BUILD)/lib/$(subst /,-,$(1)).a
archives := $(foreach f,$(folders),$(call archive,$(f)))

programs := $(BUILD)/bin/dfg-trigger $(BUILD)/bin/dfg-doctor $(BUILD)/bin/dfg-setup $(BUILD)/bin/dfg-diff \
            $(BUILD)/bin/dfg-merge $(BUILD)/bin/dfg-top $(BUILD)/libexec/dfg-hook $(BUILD)/libexec/dfg-runtime \
            $(BUILD)/libexec/dfg-push
payload  := $(BUILD)/payload/dfg-inject $(BUILD)/payload/libdfg-agent.so
image    := $(BUILD)/libexec/payload.squashfs
sbom     := $(BUILD)/dfg.spdx.json
man      := $(wildcard docs/man/*.[18])

.PHONY: all force sbom without-bpf check check-emulated check-asan check-tsan check-threads check-analyze check-arm64 check-e2e fuzz fuzz-build install uninstall deb clean
all: $(programs) $(payload) $(image) $(if $(bpf),,without-bpf)
sbom: $(sbom)
without-bpf:
	@echo '  without the recorder in the kernel: it takes $(BPF_CC), bpftool and libbpf'

# Includes name their folder: "perf/perfdata.h", "common/err.h". Who may include whom: tests/lint/edges.t.
includes := -Iinclude -I. -Ihost -I$(BUILD)/help
libs_cflags := $(shell $(PKGCONFIG) --cflags jansson ncursesw libcurl)

$(BUILD)/dyn/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(base) $(warn) $(hard) $(libs_cflags) \
	    $(if $(filter tests/%,$<),-Itests) $(CPPFLAGS) $(fort) $(CFLAGS) $(SAN) -c -o $@ $<
# Made again where musl-gcc was installed since: the demo builds without it, the tests with it.
$(BUILD)/static/compiler: force
	@mkdir -p $(@D)
	@echo '$(STATIC_CC)' | cmp -s - $@ || echo '$(STATIC_CC)' >$@
$(BUILD)/static/%.o: %.c $(BUILD)/static/compiler
	@mkdir -p $(@D)
	$(call say,CC)$(STATIC_CC) $(base) $(STATIC_INC) $(warn) \
	    -Os $(safe) $(here) -fPIE -fstack-protector-strong -ffunction-sections -c -o $@ $<
# Inside the JVM: no libc, no start code, nothing of ours but the functions it looks up. Frame pointers,
# so that its own stacks in a graph do not lead anywhere.
$(BUILD)/agent/%.o: %.c
	@mkdir -p $(@D)
	$(call say,CC)$(CC) $(base) $(warn) -O2 -g $(safe) $(here) -ffreestanding -fPIC -fno-stack-protector \
	    -fno-builtin -fvisibility=hidden -fno-asynchronous-unwind-tables -fno-unwind-tables -fno-omit-frame-pointer -c -o $@ $<

# What --help prints are the lines of the man page that begin with .\" help: each before its option's item.
helps := $(patsubst %,$(BUILD)/help/cmd/help_%.h,trigger top diff merge doctor setup) \
         $(BUILD)/help/hook/help_hook.h $(BUILD)/help/injector/help_inject.h
define make_help
	@mkdir -p $(@D)
	$(call say,HELP){ echo 'static const char help_$*[] =' && \
	    sed '/^\.\\" help:/!d; s///; s/^ //; s/["\\]/\\&/g; s/.*/	"&\\n"/' $< && echo '	;'; } >$@
endef
$(BUILD)/help/cmd/help_%.h: docs/man/dfg-%.1
	$(make_help)
$(BUILD)/help/cmd/help_%.h: docs/man/dfg-%.8
	$(make_help)
$(BUILD)/help/hook/help_%.h: docs/man/dfg-%.8
	$(make_help)
$(BUILD)/help/injector/help_%.h: docs/man/dfg-%.8
	$(make_help)
$(patsubst %,$(BUILD)/dyn/host/cmd/%.o,options diff merge doctor setup) $(BUILD)/dyn/hook/main.o \
    $(BUILD)/static/injector/main.o: | $(helps)

# Files the assembler includes (host/format/embed.h), which the compiler does not tell of.
$(BUILD)/dyn/host/format/svg.o: $(wildcard host/format/svg*.css host/format/svg*.js) host/format/amount.js
$(BUILD)/dyn/host/format/html.o: CPPFLAGS += -Wa,-I$(BUILD)/page
$(BUILD)/dyn/host/format/html.o: host/format/page/page.html host/format/page/page.css $(BUILD)/page/page.js $(BUILD)/page/page.policy
# One script of its modules, and a Content-Security-Policy: no network, no other script, no other style.
$(BUILD)/page/page.js: host/format/amount.js $(wildcard host/format/page/*.js)
	@mkdir -p $(@D)
	$(call say,CAT){ echo '(() => {' && echo "'use strict';" && cat $^ && echo '})();'; } >$@
$(BUILD)/page/page.policy: host/format/page/page.css $(BUILD)/page/page.js
	$(call say,HASH)sha256() { env printf "$$(sha256sum <"$$1" | cut -c1-64 | sed 's/../\\x&/g')" | base64; }; \
	    printf "default-src 'none'; script-src 'sha256-%s'; style-src 'sha256-%s'; base-uri 'none'; form-action 'none'" \
	    "$$(sha256 $(BUILD)/page/page.js)" "$$(sha256 host/format/page/page.css)" >$@

# The program that walks stacks in the kernel, and its loader. Not with a vmlinux.h of the machine that builds.
$(BUILD)/bpf/%.bpf.o: host/kernel/%.bpf.c
	@mkdir -p $(@D)
	$(call say,BPF)$(BPF_CC) -target bpf -mcpu=v3 -O2 -g -ffreestanding -Wall -Wextra $(WERROR) -Ihost \
	    -D__TARGET_ARCH_$(if $(arm64),arm64,x86) \
	    -idirafter $(shell $(CC) -print-sysroot)/usr/include/$(shell $(CC) -print-multiarch) $(here) -MMD -MP -MF $(@:.o=.d) -c -o $@ $<
$(BUILD)/bpf/%.skel.h: $(BUILD)/bpf/%.bpf.o
	$(call say,SKEL)$(BPFTOOL) gen skeleton $< >$@
$(BUILD)/dyn/host/bpf/recorder.o $(BUILD)/dyn/host/bpf/recorder_wall.o: $(BUILD)/bpf/node.skel.h
$(BUILD)/dyn/host/bpf/walker.o: $(BUILD)/bpf/walk.skel.h
$(BUILD)/dyn/host/bpf/recorder.o $(BUILD)/dyn/host/bpf/recorder_wall.o $(BUILD)/dyn/host/bpf/walker.o: CPPFLAGS += -isystem $(BUILD)/bpf

define archive_rule
$(call archive,$(1)): $(call obj,dyn,$(call not,$(mains),$(1)/*.c))
	@mkdir -p $$(@D)
	$$(call say,AR)rm -f $$@; ar rcs $$@ $$^
endef
$(foreach f,$(folders),$(eval $(call archive_rule,$(f))))

libs_hook := $(shell $(PKGCONFIG) --libs --static jansson libcap libseccomp)
libs_read := $(shell $(PKGCONFIG) --libs jansson libseccomp libcap libdw libelf liblzma zlib) -liberty -lm
libs_bpf  := $(if $(bpf),$(shell $(PKGCONFIG) --libs libbpf))
libs_top  := $(shell $(PKGCONFIG) --libs ncursesw)
libs_push := $(shell $(PKGCONFIG) --libs libcurl)

# What each program is made of: the folders of a reader of recordings, of a recorder, of the rest.
reader   := report format jfr profile symbols unwind jit perf elf calltree session
recorder := record bpf probe unwind jit calltree discover
define host_program
$(BUILD)/bin/dfg-$(1): $(BUILD)/dyn/host/cmd/$(1).o $(foreach f,$(addprefix host/,cmd $(2)) $(3) common,$(call archive,$(f)))
	@mkdir -p $$(@D) $(BUILD)/link
	$$(call say,LD)$$(CC) $$(CFLAGS) $$(SAN) $$(link) $$(map) -Wl,--as-needed -o $$@ $$< -Wl,--start-group $$(filter %.a,$$^) -Wl,--end-group $$(libs_read) $$(libs_bpf) $(4) $$(LDFLAGS)
endef
$(eval $(call host_program,trigger,$(reader) $(recorder) doctor setup,hook oci injector hotspot))
$(eval $(call host_program,top,top $(reader) $(recorder) doctor setup,hook oci injector hotspot,$(libs_top)))
$(eval $(call host_program,doctor,doctor setup $(recorder) perf elf session,hook oci injector hotspot))
$(eval $(call host_program,setup,setup doctor $(recorder) perf elf session,hook oci injector hotspot))
$(eval $(call host_program,diff,$(reader)))
$(eval $(call host_program,merge,$(reader)))

# The only one with libcurl.
$(BUILD)/libexec/dfg-push: $(BUILD)/dyn/host/cmd/push.o $(call archive,common)
	@mkdir -p $(@D) $(BUILD)/link
	$(call say,LD)$(CC) $(CFLAGS) $(SAN) $(link) $(map) -o $@ $^ $(libs_push) $(LDFLAGS)

# The hook starts with every container: static, so that nothing is searched or relocated by name.
$(BUILD)/libexec/dfg-hook: $(BUILD)/dyn/hook/main.o
$(BUILD)/libexec/dfg-runtime: $(BUILD)/dyn/hook/runtime.o
$(BUILD)/libexec/dfg-hook $(BUILD)/libexec/dfg-runtime: $(foreach f,hook oci common,$(call archive,$(f)))
	@mkdir -p $(@D) $(BUILD)/link
	$(call say,LD)$(CC) $(CFLAGS) $(SAN) $(if $(SAN),$(link),-static-pie) -Wl,-z,relro,-z,now $(map) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(libs_hook) $(LDFLAGS)

$(BUILD)/payload/dfg-inject: $(call obj,static,$(wildcard injector/*.c) common/err.c common/log.c common/str.c common/fs.c common/proc.c common/room.c common/clock.c)
	@mkdir -p $(@D) $(BUILD)/link
	$(call say,LD)$(STATIC_CC) $(static_pie) -Wl,--gc-sections,-z,relro,-z,now,-z,noexecstack -s $(map) -o $@ $^
$(BUILD)/payload/libdfg-agent.so: $(call obj,agent,$(call not,,agent-jni/*.c hotspot/*.c)) agent-jni/exports.map
	@mkdir -p $(@D) $(BUILD)/link
	$(call say,LD)$(CC) -shared -nostdlib -Wl,-soname,libdfg-agent.so -Wl,--version-script=agent-jni/exports.map \
	    -Wl,-z,defs,-z,relro,-z,now,-z,noexecstack,-z,nodelete,--strip-debug,--build-id=sha1 $(map) -o $@ $(filter %.o,$^)
# Its own read-only file system: a container with CAP_SYS_ADMIN can make a bind mount writable, but
# not a squashfs.
$(image): $(payload)
	@mkdir -p $(@D)
	$(call say,SQUASH)rm -f $@ && SOURCE_DATE_EPOCH=$${SOURCE_DATE_EPOCH:-0} mksquashfs $(BUILD)/payload $@ -all-root \
	    -no-progress -quiet -comp gzip -no-xattrs >/dev/null
# What all of it is made of.
$(sbom): packaging/sbom.sh VERSION $(programs) $(payload) $(image)
	$(call say,SBOM)CC='$(CC)' STATIC_CC='$(STATIC_CC)' packaging/sbom.sh $(VERSION) $(BUILD)/link $(programs) $(payload) $(image) >$@

# ---- tests ---------------------------------------------------------------------------------
unit   := $(patsubst tests/unit/%.c,$(BUILD)/tests/%.t,$(call not,,tests/unit/test_*.c))
replay := $(patsubst tests/fuzz/%.c,$(BUILD)/tests/replay_%.t,$(wildcard tests/fuzz/fuzz_*.c))
tools  := $(patsubst tests/tools/%.c,$(BUILD)/tools/%,$(call not,,tests/tools/*.c)) $(BUILD)/tools/dfg-hook
test_libs := -Wl,--start-group $(archives) -Wl,--end-group

$(BUILD)/tests/%.t: $(BUILD)/dyn/tests/unit/%.o $(archives)
	@mkdir -p $(@D)
	$(call say,LD)$(CC) $(CFLAGS) $(SAN) $(link) -o $@ $< $(test_libs) $(libs_read) $(libs_top) $(libs_bpf) $(LDFLAGS)
$(BUILD)/tests/test_push_send.t: | $(BUILD)/libexec/dfg-push
$(BUILD)/tests/test_hook_runtime.t: | $(BUILD)/libexec/dfg-runtime
$(BUILD)/tests/test_hook_main.t $(BUILD)/tests/test_hook_self.t: | $(BUILD)/tools/dfg-hook
$(BUILD)/tests/test_hook_payload.t: | $(image)
$(BUILD)/tests/test_inject.t: | $(BUILD)/payload/dfg-inject
$(BUILD)/tests/test_agent_load.t: | $(BUILD)/payload/libdfg-agent.so
$(BUILD)/tests/replay_%.t: $(BUILD)/dyn/tests/fuzz/%.o $(BUILD)/dyn/tests/fuzz/replay.o $(archives)
	@mkdir -p $(@D)
	$(call say,LD)$(CC) $(CFLAGS) $(SAN) $(link) -o $@ $< $(BUILD)/dyn/tests/fuzz/replay.o $(test_libs) $(libs_read) $(libs_top) $(libs_bpf) $(LDFLAGS)

$(BUILD)/tools/%: $(BUILD)/dyn/tests/tools/%.o $(archives)
	@mkdir -p $(@D)
	$(call say,LD)$(CC) $(CFLAGS) $(SAN) $(link) -o $@ $< $(test_libs) $(libs_read) $(libs_top) $(libs_bpf) $(LDFLAGS)

# dfg-hook whose filter of system calls kills: tests notice a call that the list lacks.
$(BUILD)/tools/dfg-hook: $(BUILD)/dyn/hook/main.o $(BUILD)/dyn/tests/e2e/hook/seccomp-kill.o $(foreach f,hook oci common,$(call archive,$(f)))
	@mkdir -p $(@D)
	$(call say,LD)$(CC) $(CFLAGS) $(SAN) $(if $(SAN),$(link),-static-pie) -Wl,--wrap=seccomp_init -o $@ $(filter %.o,$^) $(filter %.a,$^) $(libs_hook) $(LDFLAGS)

# A test that hangs fails, and nothing waits for it; on a busy machine each ends long before.
guard := timeout -k 30 900
# Side by side, tests wait more than they work; next to JVMs they record for longer, the more of these there are.
jobs  := $(shell echo $$(($$(nproc) + 2)))
jobs_jvms := $(shell echo $$(($$(nproc) + 1)))

# Without privileges: unit, golden, fuzz corpora, lint.
lint := $(wildcard tests/lint/*.t)
check: all sbom $(unit) $(replay) $(tools)
	BUILD=$(BUILD) prove -j$(jobs) -e '$(guard)' $(unit) $(replay) $(wildcard tests/golden/*.t) $(lint)
# Of these the programs alone, by an emulator that is unable to run some of them.
able := $(filter-out $(UNABLE:%=$(BUILD)/tests/%.t),$(unit) $(replay))
check-emulated: all $(able)
	prove -j$(jobs) -e '$(guard) $(EMULATOR)' $(able)
# The other compiler, and its sanitizers; NULL + 0, of empty lists, is fine (C2y, N3322).
check-asan:
	$(MAKE) check lint= BUILD=$(BUILD)-asan CC=clang CFLAGS='-O1 -g' SAN='-fsanitize=address,undefined -fno-sanitize=pointer-overflow -fno-sanitize-recover=all -fno-omit-frame-pointer'
# What has threads: profile/read.c and report/render.c.
check-tsan:
	TSAN_OPTIONS='halt_on_error=1 history_size=7' $(MAKE) check-threads BUILD=$(BUILD)-tsan CFLAGS='-O1 -g' SAN='-fsanitize=thread -fno-omit-frame-pointer'
threads := $(filter $(patsubst %,$(BUILD)/tests/test_%.t,parallel sources gather inputs live) \
           $(BUILD)/tests/test_profile% $(BUILD)/tests/test_symbolize%,$(unit))
check-threads: all $(threads) $(tools)
	BUILD=$(BUILD) prove -j$(jobs) -e '$(guard)' $(threads) $(patsubst %,tests/golden/%.t,parts replay merge diff exports top)
# What an analyzer sees without running anything.
check-analyze: $(helps)
	nice tests/analyze.sh
check-arm64:
	BUILD=$(BUILD) sh tests/arm64.sh
# As root, with real engines, side by side (tests/lib/box.sh), but first and alone those that start tens of JVMs
# or a hundred containers. DFG_FULL=1 adds other suites' engines and JDKs, many containers, readers of other tools, packages.
e2e_alone := $(patsubst %,tests/e2e/%.t,hook/many record/containers record/jvms setup/many)
e2e_full := $(patsubst %,tests/e2e/%.t,example/% package/% record/arm64 record/containers% record/container-names record/churn record/kernels \
            record/perf-map record/unknown-jvm report/exports setup/early setup/many)
e2e_rare := tests/e2e/example/compare.t tests/e2e/package/reproducible.t# minutes each: FULL=1
e2e := $(filter-out $(if $(DFG_FULL)$(FULL),,$(e2e_full)) $(if $(FULL),,$(e2e_rare)),$(wildcard tests/e2e/setup/*.t tests/e2e/record/*.t) \
    $(filter-out tests/e2e/setup/% tests/e2e/record/%,$(wildcard tests/e2e/*/*.t)))# the longest begin
check-e2e: all $(tools) $(BUILD)/tests/test_hook_race.t
	failed=0; \
	BUILD=$(BUILD) prove --timer --failures --comments -e '' $(filter $(e2e_alone),$(e2e)) || failed=1; \
	BUILD=$(BUILD) prove -j$(jobs_jvms) --timer --failures --comments -e '' $(filter-out $(e2e_alone),$(e2e)) && \
	    [ $$failed = 0 ]

# libFuzzer, for hours: make fuzz F=fuzz_perfdata SECONDS=3600; all of them: make fuzz.
fuzzers  := $(patsubst tests/fuzz/%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
fuzz_san := -fsanitize=address,undefined,fuzzer-no-link -fno-sanitize-recover=all -fprofile-instr-generate -fcoverage-mapping
F        ?= $(fuzzers)
fuzz:
	BUILD=$(BUILD)-fuzz MAKE='$(MAKE)' sh tests/fuzz/run.sh '$(SECONDS)' $(F)
fuzz-build:
	$(MAKE) BUILD=$(BUILD) CC=clang CFLAGS='-O1 -g' SAN='$(fuzz_san)' $(F:%=$(BUILD)/fuzz/%)
# Most time in the reader of HotSpot's tables is spent in comparisons: libFuzzer is not told of each.
ifneq ($(findstring fuzzer,$(SAN)),)
$(BUILD)/dyn/hotspot/%.o: CPPFLAGS += -fno-sanitize-coverage=trace-cmp
endif
$(BUILD)/fuzz/%: $(BUILD)/dyn/tests/fuzz/%.o $(archives)
	@mkdir -p $(@D)
	$(call say,LD)$(CC) $(CFLAGS) $(SAN:%-no-link=%) -o $@ $< $(test_libs) $(libs_read) $(libs_top) $(libs_bpf)

# ---- installation --------------------------------------------------------------------------
install: all sbom
	install -d $(DESTDIR)$(BINDIR) $(DESTDIR)$(LIBEXECDIR)/payload $(DESTDIR)$(MANDIR)/man1 $(DESTDIR)$(MANDIR)/man8
	install -m 755 $(wildcard $(BUILD)/bin/dfg-*) $(DESTDIR)$(BINDIR)
	install -m 755 $(wildcard $(BUILD)/libexec/dfg-*) $(DESTDIR)$(LIBEXECDIR)
	install -m 444 $(image) $(DESTDIR)$(LIBEXECDIR)
	install -m 555 $(payload) $(DESTDIR)$(LIBEXECDIR)/payload
	$(if $(filter %.1,$(man)),install -m 644 $(filter %.1,$(man)) $(DESTDIR)$(MANDIR)/man1)
	$(if $(filter %.8,$(man)),install -m 644 $(filter %.8,$(man)) $(DESTDIR)$(MANDIR)/man8)
	install -D -m 644 $(sbom) $(DESTDIR)$(DOCDIR)/dfg.spdx.json
	install -D -m 644 packaging/dfg.tmpfiles $(DESTDIR)$(TMPFILES)/dfg.conf
	install -D -m 644 packaging/dfg.bash-completion $(DESTDIR)$(COMPDIR)/dfg
	$(foreach p,$(notdir $(wildcard $(BUILD)/bin/dfg-*)),ln -sf dfg $(DESTDIR)$(COMPDIR)/$(p);)
uninstall:
	rm -f $(foreach p,$(notdir $(wildcard $(BUILD)/bin/dfg-*)) dfg,$(DESTDIR)$(COMPDIR)/$(p)) $(DESTDIR)$(TMPFILES)/dfg.conf
	rm -f $(foreach p,$(notdir $(wildcard $(BUILD)/bin/dfg-*)),$(DESTDIR)$(BINDIR)/$(p))
	rm -f $(foreach m,$(notdir $(man)),$(DESTDIR)$(MANDIR)/man1/$(m) $(DESTDIR)$(MANDIR)/man8/$(m))
	rm -rf $(DESTDIR)$(LIBEXECDIR) $(DESTDIR)$(DOCDIR)
# A Debian package, in $(BUILD)/deb. Needs the group "package" of packages.txt.
deb:
	rm -rf $(BUILD)/deb && mkdir -p $(BUILD)/deb/dfg-$(VERSION)
	tar -c --exclude=./.git --exclude='./$(firstword $(subst /, ,$(BUILD)))*' . | tar -x -C $(BUILD)/deb/dfg-$(VERSION)
	cp -r packaging/debian $(BUILD)/deb/dfg-$(VERSION)
	printf 'dfg (%s) unstable; urgency=medium\n\n  * See CHANGELOG.md.\n\n -- The dfg authors <dfg@localhost>  %s\n' \
	    '$(VERSION)' "$$(date -R -r CHANGELOG.md)" >$(BUILD)/deb/dfg-$(VERSION)/debian/changelog
	cd $(BUILD)/deb/dfg-$(VERSION) && env -u MAKEFLAGS -u MFLAGS -u BUILD dpkg-buildpackage -us -uc -b -j$(shell nproc)
clean:
	rm -rf $(BUILD) $(BUILD)-asan $(BUILD)-tsan $(BUILD)-clang $(BUILD)-fuzz

.DELETE_ON_ERROR:
.SECONDARY:
# Not in the root file systems that tests made.
-include $(shell find $(BUILD)/dyn $(BUILD)/static $(BUILD)/agent $(BUILD)/bpf -name '*.d' 2>/dev/null)
