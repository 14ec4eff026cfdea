package git

import (
	"context"
	"fmt"
	"maps"
	"path"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/gitconfig"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/refs"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/repo"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/worktree/ignore"
)

// Identity is the author and committer of a commit.
type Identity struct {
	Name, Email string
}

// override takes from a configuration the parts of an identity that it sets.
func (i *Identity) override(config gitconfig.File) {
	for key, to := range map[string]*string{"name": &i.Name, "email": &i.Email} {
		if value, ok := config.Last("user", "", key); ok {
			*to = value
		}
	}
}

// User is what the user's and the system's configuration sets for a repository.
type User struct {
	// Identity is the author for repositories whose configuration names none.
	Identity Identity
	// Excludes is the content of the user's own ignore file; nil if it is not set.
	Excludes []byte
	// Attributes is the content of the user's own file of attributes; nil if it is not set.
	Attributes []byte
	// SystemAttributes is the content of the system's file of attributes.
	SystemAttributes []byte
	// Settings decide whether operations may change a repository.
	Settings Settings
}

// override takes from other what it sets.
func (u *User) override(other *User) {
	if other.Identity.Name != "" {
		u.Identity.Name = other.Identity.Name
	}
	if other.Identity.Email != "" {
		u.Identity.Email = other.Identity.Email
	}
	for from, to := range map[*[]byte]*[]byte{&other.Excludes: &u.Excludes, &other.Attributes: &u.Attributes, &other.SystemAttributes: &u.SystemAttributes} {
		if *from != nil {
			*to = *from
		}
	}
	if u.Settings == nil {
		u.Settings = Settings{}
	}
	maps.Copy(u.Settings, other.Settings)
}

// UserConfig is the user's and the system's configuration. The host reads it, since no operation may open these files; whether its conditions
// hold is known only where the repository is open. Layers are in ascending order of precedence.
type UserConfig []Layer

// Layer is a part of the configuration that takes effect in repositories that meet all of its conditions.
type Layer struct {
	When []Condition
	User
}

// Condition is the condition of a section includeIf: that a pattern matches the path of the git directory, or the current branch.
type Condition struct {
	Branch  bool // whether the pattern is of a branch
	Fold    bool // whether case is ignored
	Pattern string
}

// For returns the effective configuration for a repository.
func (c UserConfig) For(ctx context.Context, r *repo.Repository) (User, error) {
	var user User
	for i := range c {
		if err := ctx.Err(); err != nil {
			return user, err
		}
		ok, err := holds(r, c[i].When)
		if err != nil {
			return User{}, err
		}
		if ok {
			user.override(&c[i].User)
		}
	}
	return user, nil
}

func holds(r *repo.Repository, all []Condition) (bool, error) {
	for _, c := range all {
		var texts []string
		if c.Branch {
			branch, err := refs.HeadBranch(r)
			if err != nil {
				return false, err
			}
			if branch != "" {
				texts = []string{branch}
			}
		} else {
			var err error
			if texts, err = gitDirPaths(r); err != nil {
				return false, err
			}
		}
		ok := false
		for _, text := range texts {
			ok = ok || ignore.MatchPath(c.Pattern, text, c.Fold)
		}
		if !ok {
			return false, nil
		}
	}
	return true, nil
}

// gitDirPaths returns the paths of the git directory that a condition may match: as in git, with symbolic links resolved, and as named.
func gitDirPaths(r *repo.Repository) ([]string, error) {
	resolved, err := r.Root.Resolved(r.GitDir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.Root.Abs(r.GitDir), err)
	}
	return []string{resolved, path.Clean(r.Root.Abs(r.GitDir))}, nil
}
