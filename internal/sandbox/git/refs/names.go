package refs

import (
	"strings"

	"github.com/go-git/go-git/v5/plumbing"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/hosterror"
)

const (
	// BranchPrefix begins the full name of a local branch.
	BranchPrefix = "refs/heads/"
	// MaxName is the maximum length of the name of a branch, reference or remote, in bytes.
	MaxName = 1 << 10
)

// CheckBranch refuses a name that git does not allow for a branch.
func CheckBranch(name string) error {
	err := plumbing.ReferenceName(BranchPrefix + name).Validate()
	if err != nil || len(name) > MaxName || name == "HEAD" {
		return hosterror.Invalid("branch: %q: not a valid branch name (see git check-ref-format)", hosterror.Truncate(name))
	}
	return nil
}

// CheckRevision refuses a name unless it is HEAD, a hash, or a short name for which Candidates returns valid references.
func CheckRevision(name string) error {
	if name == "HEAD" {
		return nil
	}
	err := plumbing.ReferenceName("refs/x/" + name).Validate()
	if err != nil || len(name) > MaxName || strings.HasPrefix(name, "-") {
		return hosterror.Invalid("ref: %q: give HEAD, a reference, a tag, a branch or a hash; expressions with ^ ~ : @{ are not supported",
			hosterror.Truncate(name))
	}
	return nil
}

// Candidates returns the references that a short name can mean, in git's order of precedence.
func Candidates(name string) []string {
	all := []string{"refs/" + name, "refs/tags/" + name, BranchPrefix + name, "refs/remotes/" + name, "refs/remotes/" + name + "/HEAD"}
	if name == "HEAD" || strings.HasPrefix(name, "refs/") {
		all = append([]string{name}, all...)
	}
	return all
}

// CheckFull refuses a name that is not the full name of a reference below refs/.
func CheckFull(name string) error {
	if plumbing.ReferenceName(name).Validate() != nil || !strings.HasPrefix(name, "refs/") || len(name) > MaxName {
		return hosterror.Invalid("ref: %q: not the full name of a reference", hosterror.Truncate(name))
	}
	return nil
}

// Short returns the name by which git shows a reference that is not the current branch: without refs/tags/ or refs/remotes/.
func Short(name string) string {
	if short, ok := strings.CutPrefix(name, "refs/tags/"); ok {
		return short
	}
	return strings.TrimPrefix(name, "refs/remotes/")
}
