// Package change stages files, commits, resets the index and creates branches, with the texts of the server that the plugin replaces.
package change

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/plugins/git/repository"
)

// Add stages files.
func Add(r *repository.Repository, files []string) (string, error) {
	if len(files) != 1 || files[0] != "." {
		for _, file := range files {
			if err := checkFile(r, file, files); err != nil {
				return "", err
			}
		}
	}
	staged, err := r.Add(files)
	if err != nil {
		return "", explainAdd(err, files)
	}
	text := "Files staged successfully"
	if !staged.Changed {
		text = "No changes were staged: the given paths had nothing new to stage. git_status shows what is modified or untracked."
	}
	if staged.Skipped > 0 {
		text += "\nNot staged, because this plugin may not read them: " + strings.Join(staged.Names, ", ")
		if more := staged.Skipped - len(staged.Names); more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
	}
	return text, nil
}

// checkFile refuses a path that leaves the repository, also by a symbolic link.
func checkFile(r *repository.Repository, file string, files []string) error {
	if strings.ContainsRune(file, 0) {
		return repository.Refuse("embedded null byte")
	}
	at := file
	if !path.IsAbs(file) {
		at = path.Join(r.TopLevel, file)
	}
	resolved, ok := resolve(path.Clean(at))
	if !ok {
		return repository.Refuse("Invalid path: '%s'", file)
	}
	if !isWithin(r.TopLevel, resolved) {
		return repository.Refuse("Path '%s' is outside the repository '%s'", file, r.TopLevel)
	}
	why := ""
	switch {
	case file == "":
		why = "empty string is not a valid pathspec. please use . instead if you meant to match all paths"
	case strings.HasPrefix(path.Clean(file), ".."):
		why = fmt.Sprintf("%s: '%s' is outside repository at '%s'", file, file, r.TopLevel)
	default:
		return nil
	}
	return failed("git ls-files --stage -- "+strings.Join(files, " "), why)
}

// resolve resolves the symbolic links in an absolute path, whether or not the file exists. The bool is false if they form a loop. What lies
// outside of the grants counts as no link.
func resolve(name string) (string, bool) {
	const maxLinks = 40
	for range maxLinks {
		next, found := name, false
		for end := 1; end <= len(name) && !found; end++ {
			if end < len(name) && name[end] != '/' {
				continue
			}
			if target, err := os.Readlink(name[:end]); err == nil {
				if !path.IsAbs(target) {
					target = path.Join(path.Dir(name[:end]), target)
				}
				next, found = path.Join(target, name[end:]), true
			}
		}
		if !found {
			return name, true
		}
		name = next
	}
	return "", false
}

func isWithin(dir, name string) bool { return name == dir || strings.HasPrefix(name, dir+"/") }

// failed returns the error that the original reports for a git command that fails.
func failed(command, why string) error {
	return repository.Refuse("Cmd('git') failed due to: exit code(128)\n  cmdline: %s\n  stderr: 'fatal: %s'", command, why)
}

// explainAdd returns the error of git for a path that names nothing; otherwise err.
func explainAdd(err error, files []string) error {
	command := "git add -- " + strings.Join(files, " ")
	if len(files) == 1 && files[0] == "." {
		command = "git add ."
	}
	var none *repository.NoMatchError
	if errors.As(err, &none) {
		return failed(command, none.Error())
	}
	return err
}

// Commit commits what is staged.
func Commit(r *repository.Repository, message string) (string, error) {
	from := r.Commit
	if from == "" {
		from = repository.Empty
	}
	staged, _, err := r.Changes(from, repository.Index, 1)
	if err != nil {
		return "", err
	}
	if len(staged) == 0 {
		return "", repository.Refuse("No changes staged for commit. Use git_add to stage changes first; git_status shows what is currently staged.")
	}
	hash, err := r.CommitIndex(message)
	return "Changes committed successfully with hash " + hash, err
}

// Reset makes the index that of HEAD.
func Reset(r *repository.Repository) (string, error) {
	return "All staged changes reset", r.Reset()
}

// CreateBranch creates a branch at another branch, a remote branch or a tag, or at the current branch if base is empty.
func CreateBranch(r *repository.Repository, name, base string) (string, error) {
	for _, value := range []struct{ kind, text string }{{"branch name", name}, {"base branch", base}} {
		if strings.HasPrefix(value.text, "-") {
			return "", repository.Refuse("Invalid %s: '%s' - cannot start with '-'", value.kind, value.text)
		}
	}
	refs, err := r.Refs("refs/")
	if err != nil {
		return "", err
	}
	tip := r.Commit
	switch {
	case base != "":
		ref, found := find(refs, base)
		if !found {
			return "", repository.Refuse("No item found with id %s", base)
		}
		tip = ref.Hash
	case r.Branch == "":
		return "", repository.Refuse("HEAD is detached, so there is no current branch to branch from; pass base_branch")
	default:
		base = r.Branch
	}
	for _, ref := range refs {
		if ref.Name == "refs/heads/"+name {
			return "", repository.Refuse("Cannot create branch '%s': %s already exists", name, ref.Name)
		}
	}
	if tip == "" {
		return "", repository.Refuse("Ref '%s' did not resolve to an object", base)
	}
	if err := checkName("refs/heads/" + name); err != nil {
		return "", err
	}
	object, err := r.Object(tip)
	if err != nil {
		return "", err
	}
	commit, err := r.PeelCommit(object)
	if err != nil {
		return "", err
	}
	if err := r.CreateBranch(strings.TrimPrefix(name, "refs/heads/"), commit.Hash, base); err != nil {
		return "", err
	}
	return fmt.Sprintf("Created branch '%s' from '%s'", name, base), nil
}

// find returns the first reference whose name without its first two parts, such as refs/heads, is short.
func find(refs []repository.Ref, short string) (repository.Ref, bool) {
	for _, ref := range refs {
		if parts := strings.SplitN(ref.Name, "/", 3); len(parts) == 3 && parts[2] == short {
			return ref, true
		}
	}
	return repository.Ref{}, false
}

// checkName refuses an invalid name of a reference, with the texts of the original for the first rule that it violates.
func checkName(name string) error {
	refuse := func(rule string) error {
		return repository.Refuse("Invalid reference '%s': references cannot %s", name, rule)
	}
	previous := 'x'
	for _, c := range name {
		switch {
		case strings.ContainsRune(` ~^:?*[\`, c):
			return refuse(`contain spaces, tildes (~), carets (^), colons (:), question marks (?), asterisks (*), open brackets ([) or backslashes (\)`)
		case c == '.' && previous == '/':
			return refuse("start with a period (.) or contain '/.'")
		case c == '.' && previous == '.':
			return refuse("contain '..'")
		case c == '/' && previous == '/':
			return refuse("contain '//'")
		case c == '{' && previous == '@':
			return refuse("contain '@{'")
		case c < 32 || c == 127:
			return refuse("contain ASCII control characters")
		}
		previous = c
	}
	switch previous {
	case '.':
		return refuse("end with a period (.)")
	case '/':
		return refuse("end with a forward slash (/)")
	}
	for part := range strings.SplitSeq(name, "/") {
		if strings.HasSuffix(part, ".lock") {
			return refuse("have slash-separated components that end with '.lock'")
		}
	}
	return nil
}
