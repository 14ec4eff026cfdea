// Command release builds the files of a release into dist/release/VERSION: archives, packages for Debian, npm and PyPI, a container image,
// the plugins' archives, a Homebrew formula, an installation script, bills of materials, and checksums. Two builds of one commit with one Go
// version have the same bytes. It also signs these files, and pushes image and plugins to a registry.
//
// It is a module of its own, so that the libraries that it needs are no dependencies of the host.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
)

const usage = `usage: release [build | sign | push] VERSION [flags]

build  Build the files of a release into dist/release/VERSION, and sign them if there is a
       key. The working tree must have no changes, and CHANGELOG.md must have the section
       "## VERSION" (--snapshot turns these checks off).
sign   Sign the files that were built before, on a machine where nothing is compiled.
push   Push the container image and the signed plugins to a registry, with the credentials of
       docker login. No version that is there is replaced.

VERSION is a semantic version with a leading v, such as v1.2.3 or v1.3.0-rc.1. The time stamps
in the files are $SOURCE_DATE_EPOCH, else the time of the commit.

Exit codes: 0 success; 1 it failed; 2 usage error.

Examples:
  just release v1.2.3 --maintainer 'NAME <ADDRESS>' --homepage URL --download URL
  just release v0.0.0-test --snapshot --platforms linux/amd64 --without deb,formula
  just release sign v1.2.3 --key FILE
  just release push v1.2.3 --registry ghcr.io/OWNER/bulkhead

Flags:
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	r, err := parse(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "release: %v\n", err)
		os.Exit(2)
	}
	if err := r.actions()[r.action](ctx); err != nil {
		fmt.Fprintf(os.Stderr, "release: %v\n", err)
		os.Exit(1)
	}
}

// parse reads the command line.
func parse(args []string) (*release, error) {
	r := &release{action: "build"}
	if len(args) > 0 && r.actions()[args[0]] != nil {
		r.action, args = args[0], args[1:]
	}
	var platforms, without string
	f := flag.NewFlagSet("release", flag.ContinueOnError)
	f.Usage = func() {
		fmt.Fprint(f.Output(), usage)
		f.PrintDefaults()
	}
	f.StringVar(&r.root, "root", filepath.Join("..", ".."), "`directory` of the checkout")
	f.StringVar(&r.out, "out", "", "output `directory` (default: dist/release/VERSION in the checkout)")
	f.StringVar(&platforms, "platforms", strings.Join(allPlatforms, ","), "comma-separated `list` of platforms")
	f.StringVar(&without, "without", "", "comma-separated `list` of what is left out: "+strings.Join(optional, ", "))
	f.StringVar(&r.maintainer, "maintainer", os.Getenv("RELEASE_MAINTAINER"), "`name` and address of the maintainer, for the Debian packages (default: $RELEASE_MAINTAINER)")
	f.StringVar(&r.homepage, "homepage", os.Getenv("RELEASE_HOMEPAGE"), "`URL` of the project, for packages, image and formula (default: $RELEASE_HOMEPAGE)")
	f.StringVar(&r.download, "download", os.Getenv("RELEASE_DOWNLOAD"), "`URL` of the directory that the files will be downloaded from, for the formula, install.sh and,\nwithout a registry, the catalogue; {version} stands for VERSION (default: $RELEASE_DOWNLOAD)")
	f.StringVar(&r.keyFile, "key", os.Getenv("RELEASE_KEY"), "`file` with the secret key of minisign that signs the files; its password is $RELEASE_KEY_PASSWORD\n(default: $RELEASE_KEY, else the release is not signed)")
	f.StringVar(&r.registry, "registry", os.Getenv("RELEASE_REGISTRY"), "`repository` of the container image, such as ghcr.io/OWNER/bulkhead; the plugins are in REPOSITORY/plugins/NAME\n(default: $RELEASE_REGISTRY)")
	f.BoolVar(&r.snapshot, "snapshot", false, "allow changes in the working tree and a version that CHANGELOG.md does not name")
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		r.version, args = args[0], args[1:]
	}
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if r.version == "" || f.NArg() > 0 {
		return nil, errors.New("give one VERSION, before the flags: see --help")
	}
	var err error
	if r.platforms, err = parsePlatforms(platforms); err != nil {
		return nil, err
	}
	if r.without, err = parseNames("--without", without, optional); err != nil {
		return nil, err
	}
	return r, r.validate()
}

// actions returns what the first argument chooses.
func (r *release) actions() map[string]func(context.Context) error {
	return map[string]func(context.Context) error{"build": r.build, "sign": r.signBuilt, "push": r.push}
}

// parseNames splits a comma-separated list of known names.
func parseNames(flag, list string, known []string) ([]string, error) {
	if list == "" {
		return nil, nil
	}
	names := strings.Split(list, ",")
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("%s: unknown name %q: the names are %s", flag, name, strings.Join(known, ", "))
		}
	}
	return names, nil
}

// build builds everything in a temporary directory beside the output directory, and then renames it.
func (r *release) build(ctx context.Context) error {
	if err := r.readKey(); err != nil {
		return err
	}
	if err := r.inspectCheckout(ctx); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(r.out), 0o755); err != nil {
		return err
	}
	work, err := os.MkdirTemp(filepath.Dir(r.out), ".release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	r.stage, r.files = filepath.Join(work, "stage"), filepath.Join(work, "files")
	if err := errors.Join(os.Mkdir(r.stage, 0o755), os.Mkdir(r.files, 0o755)); err != nil {
		return err
	}
	for _, step := range []struct {
		name string // in optional, or "" if it is always made
		make func(context.Context) error
	}{
		{"", r.buildAll}, {"", r.makeArchives}, {"sbom", r.makeSBOMs}, {"deb", r.makeDebs}, {"npm", r.makeNPM}, {"wheel", r.makeWheels},
		{"image", r.makeImage}, {"formula", r.makeFormula}, {"", r.makeInstaller},
		{"plugins", r.packPlugins}, {"", r.copyChangelog}, {"", r.signFiles},
	} {
		if slices.Contains(r.without, step.name) {
			continue
		}
		if err := step.make(ctx); err != nil {
			return err
		}
	}
	if err := r.publish(filepath.Join(work, "earlier")); err != nil {
		return err
	}
	return r.summarize()
}

// publish renames the new files to the output directory. What is there is moved to earlier, and moved back if that fails.
func (r *release) publish(earlier string) error {
	if err := checkReplaceable(r.out); err != nil { // again, since a build takes minutes
		return err
	}
	if err := os.Rename(r.out, earlier); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err := os.Rename(r.files, r.out)
	if err != nil {
		_ = os.Rename(earlier, r.out) // fails if there was none
	}
	return err
}

// summarize prints the files and what they were built from.
func (r *release) summarize() error {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	items, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	for _, item := range items {
		info, err := item.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s\t%.1f MB\n", item.Name(), float64(info.Size())/1e6)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Printf("\n%s, commit %s of %s, %s: %d files in %s\n", r.version, r.commit, r.date.Format("2006-01-02 15:04:05 MST"), r.goVersion, len(items), r.out)
	if len(r.without) > 0 {
		fmt.Printf("left out: %s\n", strings.Join(r.without, ", "))
	}
	if r.snapshot {
		fmt.Println("a snapshot, not for publication: the working tree and CHANGELOG.md were not checked")
	}
	return nil
}
