// Package repo finds the repository that contains a directory, opens its files, and reads its configuration.
// Start with NewRoot and Root.Find.
//
// A repository is untrusted input. It may refer to other directories by a .git file, by commondir, by alternates or by symbolic links. Every
// such pointer is resolved below a granted directory, or refused.
package repo

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/gitconfig"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/hosterror"
)

const (
	maxPointer      = 8 << 10  // most bytes of a .git file or commondir
	maxAlternates   = 64 << 10 // most bytes of objects/info/alternates
	maxObjectDirs   = 16       // most object directories of one repository
	alternatesDepth = 5        // most levels of nested alternates, as in git
)

// Repository is a repository in a granted directory. All of its paths are relative to Root, except Top.
type Repository struct {
	Root       *Root
	Work       *Root       // root of the working tree; differs from Root if .git refers to another granted directory
	Top        string      // top level of the working tree, relative to Work
	GitDir     string      // directory that contains HEAD and the index
	Common     string      // directory that contains references and objects; differs from GitDir in a linked worktree
	ObjectDirs []ObjectDir // object directories of the repository itself and of its alternates
}

// ObjectDir is a directory of objects. Name is relative to Root, which differs from the root of the repository if alternates refer to
// another granted directory.
type ObjectDir struct {
	Root *Root
	Name string
}

// Find returns the repository that contains the directory at the absolute path abs. It returns nil without an error if there is none, or if
// the path is not a directory. It searches only directories below the root, and denies a repository of which the root is a part.
func (r *Root) Find(abs string) (*Repository, error) {
	name, err := r.rel(abs)
	if err != nil {
		return nil, err
	}
	if ok, err := r.IsDir(name); !ok {
		return nil, err
	}
	return r.findFrom(name)
}

// FindFile is like Find, but abs may be the path of a file, or may not exist.
func (r *Root) FindFile(abs string) (*Repository, error) {
	name, err := r.rel(abs)
	if err == nil {
		name, err = r.nearestDir(name)
	}
	if err != nil {
		return nil, err
	}
	return r.findFrom(name)
}

func (r *Root) findFrom(dir string) (*Repository, error) {
	for ; ; dir = path.Dir(dir) {
		repo, err := r.OpenRepository(dir)
		switch {
		case repo != nil || err != nil:
			return repo, err
		case dir == "." && r.Above != "":
			return nil, hosterror.Denied("%s is in the repository %s, whose top level is outside of the grant; grant that repository, by adding "+
				"{ repo = %q, access = \"r\" } to the plugin's key git, or with --project", r.path, r.Above, r.Above)
		case dir == ".":
			return nil, nil
		}
	}
}

// OpenRepository opens the repository whose top level is dir. It returns nil without an error if dir is not the top level of a repository.
func (r *Root) OpenRepository(dir string) (*Repository, error) {
	dotGit := path.Join(dir, ".git")
	info, err := r.Stat(dotGit)
	if IsAbsent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	repo := &Repository{Root: r, Work: r, Top: dir, GitDir: dotGit}
	if !info.IsDir() {
		if repo.Root, repo.GitDir, err = r.readGitFile(dir, dotGit); err != nil {
			return nil, err
		}
	}
	if repo.Common, err = repo.Root.readCommonDir(repo.GitDir); err != nil {
		return nil, err
	}
	ok, err := repo.isValid()
	if err != nil {
		return nil, err
	}
	if !ok && !info.IsDir() {
		return nil, fmt.Errorf("%s points to %s, which is not a git repository", r.Abs(dotGit), repo.Root.Abs(repo.GitDir))
	}
	if !ok {
		return nil, nil
	}
	return repo, repo.addObjectDir(ObjectDir{repo.Root, path.Join(repo.Common, "objects")}, 0)
}

// readGitFile resolves a .git that is a file, as in linked worktrees and submodules. The returned name is relative to the returned root. That
// root is r or, if the file refers to another granted directory, the root of that directory.
func (r *Root) readGitFile(dir, dotGit string) (*Root, string, error) {
	data, err := r.Read(dotGit, maxPointer)
	if err != nil {
		return nil, "", err
	}
	pointer, ok := bytes.CutPrefix(data, []byte("gitdir: "))
	pointer = bytes.TrimRight(pointer, "\r\n")
	if !ok || len(pointer) == 0 || bytes.ContainsAny(pointer, "\x00\n") {
		return nil, "", fmt.Errorf(`%s: not of the form "gitdir: DIRECTORY"`, r.Abs(dotGit))
	}
	return r.resolvePointer(dotGit, dir, string(pointer), r.Other, r.Access)
}

// ownerOf returns the directory of the repository to which the directory at the path gitPath belongs: a git directory, or one in it. It
// derives this from the path.
func ownerOf(gitPath string) string {
	owner, _, _ := strings.Cut(gitPath, "/worktrees/")
	owner, _, _ = strings.Cut(owner, "/.git/")
	return strings.TrimSuffix(strings.TrimSuffix(owner, "/.git"), "/objects")
}

// readCommonDir returns the directory that a linked worktree shares with its repository. For any other repository it returns gitDir.
func (r *Root) readCommonDir(gitDir string) (string, error) {
	file := path.Join(gitDir, "commondir")
	data, err := r.Read(file, maxPointer)
	if IsAbsent(err) {
		return gitDir, nil
	}
	if err != nil {
		return "", err
	}
	pointer := bytes.TrimRight(data, "\r\n")
	if len(pointer) == 0 || bytes.ContainsAny(pointer, "\x00\n") {
		return "", fmt.Errorf("%s: does not name a directory", r.Abs(file))
	}
	_, name, err := r.resolvePointer(file, gitDir, string(pointer), nil, Reads)
	return name, err
}

// isValid reports whether the repository has the files by which git recognizes a repository. It returns an error for the reftable format.
func (r *Repository) isValid() (bool, error) {
	if _, err := r.Root.Handle.Lstat(path.Join(r.GitDir, "HEAD")); err != nil {
		if IsAbsent(err) {
			return false, nil
		}
		return false, r.Root.Explain(r.GitDir, err)
	}
	for _, part := range []string{"objects", "refs"} {
		if ok, err := r.Root.IsDir(path.Join(r.Common, part)); !ok {
			return false, err
		}
	}
	tables, err := r.Root.IsDir(path.Join(r.Common, "reftable"))
	if tables {
		err = fmt.Errorf("%s: stores its references as a reftable, which is not supported; "+
			"convert them with git refs migrate --ref-format=files", r.Root.Abs(r.Common))
	}
	return !tables, err
}

// addObjectDir adds an object directory and, recursively, its alternates, which may be in other granted directories. It skips a directory
// that was added before, so cycles end.
func (r *Repository) addObjectDir(dir ObjectDir, depth int) error {
	if slices.ContainsFunc(r.ObjectDirs, func(d ObjectDir) bool { return d.at() == dir.at() }) {
		return nil
	}
	if len(r.ObjectDirs) == maxObjectDirs {
		return fmt.Errorf("%s: more than %d object directories in objects/info/alternates", r.Root.Abs(r.Common), maxObjectDirs)
	}
	r.ObjectDirs = append(r.ObjectDirs, dir)
	file := path.Join(dir.Name, "info", "alternates")
	data, err := dir.Root.Read(file, maxAlternates)
	if IsAbsent(err) {
		return nil
	}
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(data)) {
		pointer := strings.TrimRight(line, "\r\n")
		if pointer == "" || pointer[0] == '#' {
			continue
		}
		if plain, err := strconv.Unquote(pointer); err == nil && pointer[0] == '"' {
			pointer = plain
		}
		root, name, err := dir.Root.resolvePointer(file, dir.Name, pointer, r.Work.Other, Reads)
		if err != nil {
			return err
		}
		if depth == alternatesDepth {
			return fmt.Errorf("%s: alternates are nested more than %d levels deep", dir.Root.Abs(file), alternatesDepth)
		}
		if err := r.addObjectDir(ObjectDir{root, name}, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// at returns the resolved path of the directory.
func (d ObjectDir) at() string { return path.Join(d.Root.real, d.Name) }

// InCommon returns the path, relative to the root, of a file that the repository's worktrees share.
func (r *Repository) InCommon(part string) string { return path.Join(r.Common, part) }

// Config reads the repository's own configuration. If that file is absent, the configuration is empty.
func (r *Repository) Config() (gitconfig.File, error) {
	name := r.InCommon("config")
	data, err := r.Root.Read(name, gitconfig.MaxSize)
	if IsAbsent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	config, err := gitconfig.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.Root.Abs(name), err)
	}
	return config, nil
}

// CheckedConfig is Config for operations that depend on the format of the repository. It refuses a format that is not supported.
func (r *Repository) CheckedConfig() (gitconfig.File, error) {
	config, err := r.Config()
	if err != nil {
		return nil, err
	}
	return config, config.CheckFormat()
}
