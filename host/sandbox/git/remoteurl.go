package git

import (
	"context"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/go-git/go-git/v5/plumbing"
)

// RemoteURL gives the URL that a remote has in the repository's own configuration, as it is written there
// (includes are not followed, url.….insteadOf is not applied) but without credentials: the user and password
// of a URL, of an ssh one the password.
func (o *Ops) RemoteURL(ctx context.Context, q abi.GitRemote) (abi.GitURL, error) {
	if q.Remote == "" {
		q.Remote = "origin"
	}
	err := plumbing.ReferenceName("refs/remotes/" + q.Remote).Validate()
	if err != nil || len(q.Remote) > maxBranch || strings.HasPrefix(q.Remote, "-") {
		return abi.GitURL{}, invalid("remote: %q: not a valid name of a remote", shorten(q.Remote))
	}
	var url string
	err = o.in(ctx, q.Repo, func(r *repository) error {
		s, err := r.settings()
		if err != nil {
			return err
		}
		// Git fetches from the first.
		if all := s.all("remote", q.Remote, "url"); len(all) > 0 {
			url = withoutCredentials(strings.TrimSpace(all[0]))
		}
		return nil
	})
	if err != nil {
		return abi.GitURL{}, err
	}
	return abi.GitURL{URL: url}, nil
}

// withoutCredentials takes user and password out of a URL. The user of an ssh URL says which account the
// repository belongs to, so it stays, and so does that of the form user@host:path, which can have no
// password. It goes by the text: a URL that no parser takes must not keep its password for that.
func withoutCredentials(url string) string {
	scheme, rest, ok := strings.Cut(url, "://")
	if !ok {
		return url
	}
	end := strings.IndexAny(rest, "/?#\\")
	if end < 0 {
		end = len(rest)
	}
	at := strings.LastIndexByte(rest[:end], '@')
	if at < 0 {
		return url
	}
	user, host := rest[:at], rest[at+1:]
	switch strings.ToLower(scheme) {
	case "ssh", "git+ssh", "ssh+git":
		user, _, _ = strings.Cut(user, ":")
		return scheme + "://" + user + "@" + host
	}
	return scheme + "://" + host
}
