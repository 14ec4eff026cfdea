package git

import (
	"context"
	"fmt"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/hosterror"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/objects"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/repo"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/worktree"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// Add stages files as git add does, under git's lock of the index. Their contents are read through files, so that a file that the module may
// not read is not staged. It writes the blobs first, then the index.
//
// Nothing is staged if git would convert a file or run a program for one of them.
func (o *Ops) Add(ctx context.Context, q abi.GitAdd, files worktree.Files) (abi.GitAdded, error) {
	if len(q.Paths) == 0 || len(q.Paths) > maxPaths {
		return abi.GitAdded{}, hosterror.Invalid("paths: there are %d: give 1 to %d", len(q.Paths), maxPaths)
	}
	return change(ctx, o, q.Repo, repo.Commits, func(r *repo.Repository, user User, settings Settings) (abi.GitAdded, error) {
		none := abi.GitAdded{}
		if err := checkHooks(r, settings, "post-index-change"); err != nil {
			return none, err
		}
		if s := settings[settingSparse]; isOn(s.Value) {
			return none, fmt.Errorf("core.sparseCheckout is set in %s, which is not supported: run git yourself, or unset it", s.File)
		}
		config, err := r.CheckedConfig()
		if err != nil {
			return none, err
		}
		staging, err := worktree.LockIndex(ctx, r, user.Excludes)
		if err != nil {
			return none, err
		}
		defer staging.Release()
		s, err := objects.Open(ctx, r)
		if err != nil {
			return none, err
		}
		defer s.Close()
		added, err := staging.Add(s, q.Paths, worktree.AddOptions{Files: files, SystemAttributes: user.SystemAttributes,
			UserAttributes: user.Attributes, AutoCRLF: isOn(settings[settingAutoCRLF].Value),
			IgnoreCase: config.Bool("core", "ignorecase", false), NoLinks: !config.Bool("core", "symlinks", true)})
		if err != nil {
			return none, err
		}
		return abi.GitAdded{Changed: added.Changed, Skipped: added.Skipped, Names: added.Names}, staging.Write()
	})
}
