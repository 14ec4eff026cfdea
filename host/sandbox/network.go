package sandbox

import (
	"errors"
	"fmt"

	"github.com/bulkhead-mcp/bulkhead/host/config"
	"github.com/bulkhead-mcp/bulkhead/host/sandbox/fetch"
)

// newFetch prepares http/fetch, for the process that has a network and the credentials.
func (s *Setup) newFetch() (*fetch.Fetcher, error) {
	limits := s.Grant.Limits
	c := fetch.Config{
		Limits: fetch.Limits{RequestBody: limits.HTTPRequest, ResponseBody: limits.HTTPResponse, Concurrent: limits.HTTPConcurrency},
		Log:    s.Log,
	}
	for _, granted := range s.Grant.HTTP {
		g := fetch.Grant{Origin: granted.Origin, Private: granted.Private}
		if credential := granted.Credential; credential != nil {
			g.Credential = &fetch.Credential{Header: credential.Header, Value: func() (string, error) { return s.secret(credential) }}
		}
		c.Grants = append(c.Grants, g)
	}
	return fetch.New(c)
}

func (s *Setup) secret(c *config.Credential) (string, error) {
	if s.Secret == nil {
		return "", errors.New("there is nothing that credentials are read with")
	}
	value, err := s.Secret(c)
	if err != nil {
		return "", fmt.Errorf("credential %q: %w", c.Name, err)
	}
	return c.Prefix + value, nil
}
