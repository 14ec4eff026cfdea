package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/mail"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"aead.dev/minisign"
	"github.com/google/go-containerregistry/pkg/name"
	"golang.org/x/mod/semver"
)

// release is one run of the command.
type release struct {
	action                         string // a key of actions
	root, out                      string
	version                        string // with a leading v
	maintainer, homepage, download string
	platforms                      []platform
	without                        []string
	keyFile, registry              string
	snapshot                       bool

	key       *minisign.PrivateKey // nil: the release is not signed
	commit    string
	date      time.Time // of all time stamps
	goVersion string
	goRoot    string
	plugins   []string // names of the plugins, sorted
	stage     string   // contains a tree for each platform: see tree
	files     string   // the future content of out
}

// optional are the names of what --without leaves out: files, of which "plugins" are the archives of the plugins, and the plugins that need other tool chains than Go.
var optional = []string{"deb", "npm", "wheel", "image", "formula", "sbom", "plugins", "ripgrep", "script", "sqlite"}

// allPlatforms are the platforms of a release.
var allPlatforms = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64"}

// platform is a pair of GOOS and GOARCH.
type platform struct{ os, arch string }

func (p platform) String() string { return p.os + "/" + p.arch }

// exe returns the file name of the program.
func (p platform) exe() string {
	if p.os == "windows" {
		return "bulkhead.exe"
	}
	return "bulkhead"
}

func parsePlatforms(list string) ([]platform, error) {
	var all []platform
	names, err := parseNames("--platforms", list, allPlatforms)
	for _, name := range names {
		os, arch, _ := strings.Cut(name, "/")
		all = append(all, platform{os, arch})
	}
	if err == nil && len(all) == 0 {
		err = errors.New("--platforms: name at least one of " + strings.Join(allPlatforms, ", "))
	}
	return all, err
}

// base returns the beginning of the names of files for a platform.
func (r *release) base(p platform) string {
	return fmt.Sprintf("bulkhead_%s_%s_%s", r.number(), p.os, p.arch)
}

// number returns the version without the leading v.
func (r *release) number() string { return strings.TrimPrefix(r.version, "v") }

// makes reports whether the optional part called name is built.
func (r *release) makes(name string) bool { return !slices.Contains(r.without, name) }

// validate checks the flags that do not depend on the checkout.
func (r *release) validate() error {
	if !semver.IsValid(r.version) || semver.Canonical(r.version) != r.version {
		return fmt.Errorf("%q is not a semantic version with a leading v and without build metadata, such as v1.2.3 or v1.3.0-rc.1", r.version)
	}
	if r.download != "" && !isURL(r.download) {
		return fmt.Errorf("--download: %q is not the URL of a directory", r.download)
	}
	r.download = strings.TrimSuffix(strings.ReplaceAll(r.download, "{version}", r.version), "/")
	if r.registry != "" {
		if _, err := name.NewRepository(r.registry, name.StrictValidation); err != nil || strings.Contains(r.registry, "://") {
			return fmt.Errorf("--registry: %q is not a repository such as ghcr.io/OWNER/bulkhead", r.registry)
		}
	}
	switch {
	case r.action == "sign" && r.keyFile == "":
		return errors.New("sign needs a key: pass --key FILE or set RELEASE_KEY")
	case r.action == "push" && r.registry == "":
		return errors.New("push needs a registry: pass --registry REPOSITORY or set RELEASE_REGISTRY")
	case r.action != "build":
		err := r.findOut()
		r.files = r.out
		return err
	}
	if r.makes("deb") {
		if address, err := mail.ParseAddress(r.maintainer); err != nil || address.Name == "" || strings.ContainsFunc(r.maintainer, unicode.IsControl) {
			return errors.New("the Debian packages need a maintainer: pass --maintainer 'NAME <ADDRESS>' or set RELEASE_MAINTAINER, or leave them out with --without deb")
		}
	}
	if (r.makes("deb") || r.makes("formula")) && !isURL(r.homepage) {
		return errors.New("the Debian packages and the formula need the project's homepage: pass --homepage URL or set RELEASE_HOMEPAGE, or leave them out with --without deb,formula")
	}
	if r.makes("formula") {
		if !isURL(r.download) {
			return errors.New("the formula needs the location of the archives: pass --download URL or set RELEASE_DOWNLOAD, or leave it out with --without formula")
		}
	}
	return nil
}

// isURL reports whether text is the URL of a web page, without a password, that can be quoted in a formula and a control file.
func isURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && u.User == nil && !strings.ContainsAny(text, " \"'\\#\n\r\t")
}

// inspectCheckout finds the commit, the date and the plugins, and refuses a checkout that a release cannot be built from.
func (r *release) inspectCheckout(ctx context.Context) error {
	err := r.findOut()
	if err != nil {
		return err
	}
	if err := checkReplaceable(r.out); err != nil {
		return err
	}
	if r.commit, err = r.output(ctx, "git", "rev-parse", "HEAD"); err != nil {
		return err
	}
	if err := r.findDate(ctx); err != nil {
		return err
	}
	status, err := r.output(ctx, "git", "status", "--porcelain", "--untracked-files=all")
	if err != nil {
		return err
	}
	if status != "" && !r.snapshot {
		return fmt.Errorf("the working tree has changes: commit or stash them, or pass --snapshot:\n%s", status)
	}
	if status != "" {
		r.commit += "-dirty"
	}
	if err := r.checkVersion(ctx); err != nil {
		return err
	}
	env, err := r.output(ctx, "go", "env", "GOVERSION", "GOROOT")
	if err != nil {
		return err
	}
	r.goVersion, r.goRoot, _ = strings.Cut(env, "\n")
	manifests, err := filepath.Glob(filepath.Join(r.root, "plugins", "*", "plugin.toml"))
	if err == nil && len(manifests) == 0 {
		err = fmt.Errorf("%s contains no plugins", r.root)
	}
	for _, manifest := range manifests {
		if name := filepath.Base(filepath.Dir(manifest)); r.makes(name) {
			r.plugins = append(r.plugins, name)
		}
	}
	return err
}

// findOut makes root and out absolute paths.
func (r *release) findOut() (err error) {
	if r.root, err = filepath.Abs(r.root); err != nil {
		return err
	}
	if r.out == "" {
		r.out = filepath.Join(r.root, "dist", "release", r.version)
	}
	r.out, err = filepath.Abs(r.out)
	return err
}

// checkReplaceable refuses to replace a directory unless each file in it is listed in its SHA256SUMS, as in the output of an
// earlier run.
func checkReplaceable(dir string) error {
	items, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(items) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	known := map[string]bool{sumsFile: true, catalogueFile: true}
	sums, err := os.ReadFile(filepath.Join(dir, sumsFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for line := range strings.Lines(string(sums)) {
		if _, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  "); ok {
			known[name] = true
		}
	}
	for _, item := range items {
		// Signatures and catalogue are listed when all are complete.
		if !known[strings.TrimSuffix(item.Name(), signatureExtension)] && !known[item.Name()] || !item.Type().IsRegular() {
			return fmt.Errorf("%s contains %s, which is no file of a release: name another directory with --out, or remove it", dir, item.Name())
		}
	}
	if len(sums) == 0 {
		return fmt.Errorf("%s is not empty, and no release: name another directory with --out, or remove it", dir)
	}
	return nil
}

// findDate sets the date of all time stamps.
func (r *release) findDate(ctx context.Context) error {
	epoch, source := os.Getenv("SOURCE_DATE_EPOCH"), "SOURCE_DATE_EPOCH"
	if epoch == "" {
		var err error
		if epoch, err = r.output(ctx, "git", "log", "-1", "--format=%ct"); err != nil {
			return err
		}
		source = "the time of the commit"
	}
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	const first, last = 315532800, 4354819199 // 1980 to 2107: what zip files can contain
	if err != nil || seconds < first || seconds > last {
		return fmt.Errorf("%s is %q: it must be a number of seconds since 1970, from 1980 to 2107", source, epoch)
	}
	r.date = time.Unix(seconds, 0).UTC()
	return nil
}

// checkVersion checks that the changelog describes the version, and that its tag, if it exists, is of this commit.
func (r *release) checkVersion(ctx context.Context) error {
	if r.snapshot {
		return nil
	}
	tagged, err := r.output(ctx, "git", "rev-parse", "--quiet", "--verify", "refs/tags/"+r.version+"^{commit}")
	if err == nil && tagged != r.commit {
		return fmt.Errorf("the tag %s is of the commit %s, but %s is checked out: check out the tag", r.version, tagged, r.commit)
	}
	changelog, err := os.ReadFile(filepath.Join(r.root, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	if changelogSection(string(changelog), r.version) != "" {
		return nil
	}
	return fmt.Errorf("CHANGELOG.md has no section %q with content: rename \"## Unreleased\", or pass --snapshot", "## "+r.version)
}

// output runs a command in the checkout and returns what it prints, without the line break at its end.
func (r *release) output(ctx context.Context, name string, args ...string) (string, error) {
	var stdout bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Stdout = r.root, &stdout
	err := runQuietly(cmd)
	return strings.TrimRight(stdout.String(), "\n"), err
}

// runQuietly runs a command. The error contains what it printed to stderr.
func runQuietly(cmd *exec.Cmd) error {
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, bytes.TrimSpace(stderr.Bytes()))
	}
	return nil
}
