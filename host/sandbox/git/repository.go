package git

import (
	"bytes"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const (
	maxRepoPath   = 4 << 10  // bytes of a request's path
	maxPointer    = 8 << 10  // bytes of a .git file, commondir or reference
	maxAlternates = 64 << 10 // bytes of objects/info/alternates
	maxStores     = 16       // object folders of one repository
	maxDepth      = 5        // of alternates that have alternates, and of symbolic references; as git has it
)

// accessWrite is the access of a granted repository in which branches may be made.
const accessWrite = "rw"

// repository is one that lies in a granted folder. Its parts are names in root.
type repository struct {
	root   *root
	top    string   // the folder of its working tree
	gitDir string   // HEAD
	common string   // references and objects; gitDir, except in a linked worktree
	stores []string // the object folders: its own and its alternates'
}

// grantFor gives the widest granted folder, of those that may be written if need be, that holds a folder.
func (o *Ops) grantFor(folder string, write bool) (*Grant, error) {
	if !filepath.IsAbs(folder) || len(folder) > maxRepoPath || strings.ContainsRune(folder, 0) {
		return nil, invalid("repo: %q: give an absolute path of at most %d bytes", shorten(folder), maxRepoPath)
	}
	var best *Grant
	readOnly, all := false, make([]string, 0, len(o.config.Grants))
	for i := range o.config.Grants {
		g := &o.config.Grants[i]
		grant := filepath.Clean(g.Repo)
		all = append(all, grant)
		rel, err := filepath.Rel(grant, filepath.Clean(folder))
		if err != nil || !filepath.IsLocal(rel) {
			continue
		}
		if write && g.Access != accessWrite {
			readOnly = true
			continue
		}
		if best == nil || len(grant) < len(filepath.Clean(best.Repo)) {
			best = g
		}
	}
	switch {
	case best != nil:
		return best, nil
	case readOnly:
		return nil, denied("%s: this plugin may only read the repository; its manifest must ask for access = \"rw\" "+
			"under [capabilities] git, and the config must not make it read-only", folder)
	case len(all) == 0:
		return nil, denied("%s: this plugin is granted no repository; it must ask for one under [capabilities] git, "+
			"and --project must name the project if it asks for the project's", folder)
	}
	return nil, denied("%s is outside of the granted repositories (%s); --project names another project",
		folder, strings.Join(all, ", "))
}

// use finds the repository that holds a folder of the grant and runs f on it; without one it does not.
func (r *root) use(folder string, f func(*repository) error) error {
	rel, err := filepath.Rel(r.grant, filepath.Clean(folder))
	if err != nil {
		return err
	}
	if ok, err := r.isDir(filepath.ToSlash(rel)); !ok {
		return err
	}
	for dir := filepath.ToSlash(rel); ; dir = path.Dir(dir) {
		repo, err := r.repositoryAt(dir)
		if err != nil {
			return err
		}
		if repo != nil {
			return f(repo)
		}
		if dir == "." {
			return nil
		}
	}
}

// repositoryAt opens the repository whose top level is dir; nil if it is none.
func (r *root) repositoryAt(dir string) (*repository, error) {
	dotGit := path.Join(dir, ".git")
	info, err := r.stat(dotGit)
	if absent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	repo := &repository{root: r, top: dir, gitDir: dotGit}
	if !info.IsDir() {
		if repo.gitDir, err = r.gitFile(dir, dotGit); err != nil {
			return nil, err
		}
	}
	if repo.common, err = r.commonDir(repo.gitDir); err != nil {
		return nil, err
	}
	ok, err := repo.valid()
	if err != nil {
		return nil, err
	}
	if !ok && !info.IsDir() {
		return nil, fmt.Errorf("%s points to %s, which is not a git repository", r.abs(dotGit), r.abs(repo.gitDir))
	}
	if !ok {
		return nil, nil
	}
	return repo, repo.addStore(path.Join(repo.common, "objects"), 0)
}

// gitFile reads a .git that is a file, as linked worktrees and submodules have it.
func (r *root) gitFile(dir, dotGit string) (string, error) {
	data, err := r.read(dotGit, maxPointer)
	if err != nil {
		return "", err
	}
	pointer, ok := bytes.CutPrefix(data, []byte("gitdir: "))
	pointer = bytes.TrimRight(pointer, "\r\n")
	if !ok || len(pointer) == 0 || bytes.ContainsAny(pointer, "\x00\n") {
		return "", fmt.Errorf(`%s: not of the form "gitdir: FOLDER"`, r.abs(dotGit))
	}
	return r.follow(dotGit, dir, string(pointer))
}

// commonDir finds what a linked worktree shares with its repository.
func (r *root) commonDir(gitDir string) (string, error) {
	file := path.Join(gitDir, "commondir")
	data, err := r.read(file, maxPointer)
	if absent(err) {
		return gitDir, nil
	}
	if err != nil {
		return "", err
	}
	pointer := bytes.TrimRight(data, "\r\n")
	if len(pointer) == 0 || bytes.ContainsAny(pointer, "\x00\n") {
		return "", fmt.Errorf("%s: does not name a folder", r.abs(file))
	}
	return r.follow(file, gitDir, string(pointer))
}

// valid reports whether the parts are there that make a repository; one in a form that cannot be read
// here is an error.
func (r *repository) valid() (bool, error) {
	if _, err := r.root.dir.Lstat(path.Join(r.gitDir, "HEAD")); err != nil {
		if absent(err) {
			return false, nil
		}
		return false, r.root.explain(r.gitDir, err)
	}
	for _, part := range []string{"objects", "refs"} {
		if ok, err := r.root.isDir(path.Join(r.common, part)); !ok {
			return false, err
		}
	}
	tables, err := r.root.isDir(path.Join(r.common, "reftable"))
	if tables {
		err = fmt.Errorf("%s: keeps its references as a reftable, which is not supported; "+
			"git refs migrate --ref-format=files changes that", r.root.abs(r.common))
	}
	return !tables, err
}

// addStore adds an object folder and, to the depth that git goes, its alternates.
func (r *repository) addStore(dir string, depth int) error {
	if slices.Contains(r.stores, dir) {
		return nil
	}
	if len(r.stores) == maxStores {
		return fmt.Errorf("%s: over %d object folders in objects/info/alternates", r.root.abs(r.common), maxStores)
	}
	r.stores = append(r.stores, dir)
	file := path.Join(dir, "info", "alternates")
	data, err := r.root.read(file, maxAlternates)
	if absent(err) {
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
		name, err := r.root.follow(file, dir, pointer)
		if err != nil {
			return err
		}
		if depth == maxDepth {
			return fmt.Errorf("%s: alternates nest deeper than %d", r.root.abs(file), maxDepth)
		}
		if err := r.addStore(name, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// shorten bounds a word of a request's for an error.
func shorten(s string) string {
	const limit = 200
	if len(s) > limit {
		return s[:limit] + "…"
	}
	return s
}
