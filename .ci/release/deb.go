package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
)

// makeDebs has nfpm build a Debian package for each Linux platform, by nfpm.yaml.
func (r *release) makeDebs(ctx context.Context) error {
	for _, p := range r.platforms {
		if p.os != "linux" {
			continue
		}
		progress("packing the Debian package for %s", p)
		cmd := exec.CommandContext(ctx, "go", "tool", "-modfile=.ci/nfpm.mod", "nfpm", "package", "--packager", "deb",
			"--config", filepath.Join(".ci", "release", "nfpm.yaml"), "--target", filepath.Join(r.files, r.base(p)+".deb"))
		cmd.Dir = r.root
		cmd.Env = append(os.Environ(), "SOURCE_DATE_EPOCH="+strconv.FormatInt(r.date.Unix(), 10), "RELEASE_ARCH="+p.arch,
			"RELEASE_VERSION="+r.version, "RELEASE_TREE="+r.tree(p), "RELEASE_MAINTAINER="+r.maintainer, "RELEASE_HOMEPAGE="+r.homepage)
		if err := runQuietly(cmd); err != nil {
			return err
		}
	}
	return nil
}
