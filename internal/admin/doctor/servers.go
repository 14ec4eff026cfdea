package doctor

import (
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bulkhead-mcp/bulkhead/internal/base/download"
	"github.com/bulkhead-mcp/bulkhead/internal/base/usage"
	"github.com/bulkhead-mcp/bulkhead/internal/protocol/httpserver"
)

// Bounds of CompareServers.
const (
	maxServers = 256
	askedTime  = 10 * time.Second
)

// CompareServers asks servers over HTTP that should be equal which policy is in force there, and whether they are ready. The last check says
// whether all have the same policy. An address is that of a server or of an endpoint of it. The error is that of an invalid address.
func CompareServers(ctx context.Context, addresses []string) ([]Check, error) {
	if len(addresses) > maxServers {
		return nil, usage.Errorf("--url: there are %d addresses, and at most %d can be compared", len(addresses), maxServers)
	}
	probes := make([]string, len(addresses))
	for i, address := range addresses {
		var err error
		if probes[i], err = readiness(address); err != nil {
			return nil, err
		}
	}
	checks := make([]Check, len(addresses))
	var all sync.WaitGroup
	for i, probe := range probes {
		all.Go(func() { checks[i] = askServer(ctx, addresses[i], probe) })
	}
	all.Wait()
	return append(checks, comparePolicies(checks)), nil
}

// readiness returns the address at which a server tells whether it is ready.
func readiness(address string) (string, error) {
	const path = "/readyz"
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return "", usage.Errorf("--url %q: this is no URL of a server: write it like https://mcp.example.com", address)
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return "", usage.Errorf("--url: write the URL of a server without user, query and fragment: a health check needs no token")
	}
	if at, found := strings.CutSuffix(u.Path, path); found { // as a proxy may have it elsewhere
		u.Path = at
	} else {
		u.Path = ""
	}
	u.Path, u.RawPath = u.Path+path, ""
	return u.String(), nil
}

// askServer asks one server for its policy.
func askServer(ctx context.Context, address, probe string) Check {
	fail := func(detail string) Check {
		return Check{Name: address, Outcome: CheckFailed, Detail: detail, Remedy: "see whether the server runs, and whether a proxy passes on /readyz"}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, askedTime, fmt.Errorf("there is no answer within %s", askedTime))
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, probe, nil)
	if err != nil {
		return fail(err.Error())
	}
	client := download.Client{Plain: true, NoRedirects: true}
	response, err := client.Do(r)
	if err != nil {
		return fail(err.Error())
	}
	defer response.Body.Close()
	digest := response.Header.Get(httpserver.PolicyHeader)
	if raw, err := hex.DecodeString(digest); digest != "" && (err != nil || len(raw) != 32) {
		return fail("it answers with a policy that is no digest")
	}
	switch {
	case response.StatusCode == http.StatusServiceUnavailable && digest != "":
		return Check{Name: address, Outcome: CheckWarning, Policy: digest, Detail: "it shuts down, with policy " + digest}
	case response.StatusCode != http.StatusOK:
		return fail(fmt.Sprintf("%s answers with status %d", probe, response.StatusCode))
	case digest == "":
		return fail("it is ready and tells no policy: it has no config, or is an earlier version of Bulkhead or another program")
	}
	return Check{Name: address, Outcome: CheckOK, Policy: digest, Detail: "it is ready, with policy " + digest}
}

// comparePolicies says whether the servers have the same policy.
func comparePolicies(checks []Check) Check {
	const name = "policies"
	by := map[string][]string{}
	for _, c := range checks {
		if c.Policy != "" {
			by[c.Policy] = append(by[c.Policy], c.Name)
		}
	}
	told := 0
	var groups []string
	for _, digest := range slices.Sorted(maps.Keys(by)) {
		told += len(by[digest])
		groups = append(groups, digest[:12]+" at "+strings.Join(by[digest], ", "))
	}
	switch {
	case len(by) > 1:
		return Check{Name: name, Outcome: CheckFailed, Detail: fmt.Sprintf("%d servers have %d policies: %s", told, len(by), strings.Join(groups, "; ")),
			Remedy: "give all of them the same config, ceiling, plugins and revocations; while a change is rolled out, wait, and see the log of those that stay behind for a change that was rejected"}
	case told < len(checks):
		return Check{Name: name, Outcome: CheckFailed, Detail: fmt.Sprintf("%d of %d servers have told their policy", told, len(checks)), Remedy: "see above"}
	}
	return Check{Name: name, Outcome: CheckOK, Detail: fmt.Sprintf("all have the same policy (%d)", told)}
}
