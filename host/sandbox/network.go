package sandbox

import (
	"errors"
	"fmt"
	"slices"

	"github.com/bulkhead-mcp/bulkhead/host/config"
	"github.com/bulkhead-mcp/bulkhead/host/sandbox/dial"
	"github.com/bulkhead-mcp/bulkhead/host/sandbox/fetch"
	"github.com/bulkhead-mcp/bulkhead/host/sandbox/git"
)

// newGit prepares the operations on repositories. Remotes are reached by the checked dialer, and none of
// them on a network that is not public.
func (b *Box) newGit() (*git.Ops, error) {
	c := git.Config{User: b.config.GitUser, Dial: dial.New(dial.Config{Log: b.config.Log}).DialContext, Log: b.config.Log}
	for _, granted := range b.config.Grant.Git {
		real, err := realPath(granted.Repo)
		if err != nil {
			return nil, fmt.Errorf("granted repository %s: %w", granted.Repo, err)
		}
		c.Grants = append(c.Grants, config.Git{Repo: real, Access: granted.Access})
		for _, remote := range granted.Remotes {
			if !slices.Contains(c.Remotes, remote) {
				c.Remotes = append(c.Remotes, remote)
			}
		}
	}
	return git.New(c), nil
}

// newFetch prepares http/fetch.
func (b *Box) newFetch() (*fetch.Fetcher, error) {
	limits := b.config.Grant.Limits
	c := fetch.Config{
		Limits: fetch.Limits{RequestBody: limits.HTTPRequest, ResponseBody: limits.HTTPResponse, Concurrent: limits.HTTPConcurrency},
		Log:    b.config.Log,
	}
	for _, granted := range b.config.Grant.HTTP {
		g := fetch.Grant{Origin: granted.Origin, Private: granted.Private}
		if credential := granted.Credential; credential != nil {
			g.Credential = &fetch.Credential{Header: credential.Header, Value: func() (string, error) { return b.secret(credential) }}
		}
		c.Grants = append(c.Grants, g)
	}
	return fetch.New(c)
}

func (b *Box) secret(c *config.Credential) (string, error) {
	if b.config.Secret == nil {
		return "", errors.New("there is nothing that credentials are read with")
	}
	value, err := b.config.Secret(c)
	if err != nil {
		return "", fmt.Errorf("credential %q: %w", c.Name, err)
	}
	return c.Prefix + value, nil
}
