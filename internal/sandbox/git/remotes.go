package git

import (
	"context"

	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/internal/hosterror"
	"github.com/bulkhead-mcp/bulkhead/internal/sandbox/git/remote"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
)

// ListRemote returns references of a remote repository. remote.Client.List describes the results.
func (o *Ops) ListRemote(ctx context.Context, q abi.GitRemoteQuery) (abi.GitRemoteRefs, error) {
	return perform(ctx, o, remoteTarget(q.URL), func() (abi.GitRemoteRefs, error) { return o.remotes.List(ctx, q) })
}

// Fetch returns one page of the files of a commit of a remote repository. remote.Client.Fetch describes the results.
func (o *Ops) Fetch(ctx context.Context, q abi.GitFetch) (abi.GitFetched, error) {
	return perform(ctx, o, remoteTarget(q.URL), func() (abi.GitFetched, error) { return o.remotes.Fetch(ctx, q) })
}

func remoteTarget(url string) string { return hosterror.Truncate(remote.StripCredentials(url)) }
