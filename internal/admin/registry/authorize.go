package registry

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/bulkhead-mcp/bulkhead/internal/base/download"
)

// maxToken is the maximum size of the response of a token service, in bytes.
const maxToken = 128 << 10

// authorize returns the header that answers the challenges of a registry.
func (s *session) authorize(ctx context.Context, challenges []string) (string, error) {
	var credential Credential
	if s.client.Credential != nil {
		var err error
		if credential, err = s.client.Credential(ctx, s.ref.Registry); err != nil {
			return "", fmt.Errorf("the credential for %s cannot be read: %w", s.ref.Registry, err)
		}
	}
	for _, challenge := range challenges {
		scheme, params := parseChallenge(challenge)
		switch {
		case strings.EqualFold(scheme, "Bearer"):
			token, err := s.token(ctx, params["realm"], params["service"], credential)
			if err != nil {
				return "", err
			}
			return "Bearer " + token, nil
		case strings.EqualFold(scheme, "Basic") && credential.Username != "":
			return credential.basic(), nil
		case strings.EqualFold(scheme, "Basic"):
			return "", fmt.Errorf("%s asks for a password: log in with `docker login %s`", s.ref.Registry, s.ref.Registry)
		}
	}
	return "", fmt.Errorf("%s asks for a kind of credential that is not supported", s.ref.Registry)
}

func (c Credential) basic() string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(c.Username+":"+c.Password))
}

// token fetches a token for the repository from the token service that the registry names. The service follows from the registry, as
// every client of registries trusts it; but it must be reached by TLS unless the registry is not, and it cannot redirect.
func (s *session) token(ctx context.Context, realm, service string, credential Credential) (string, error) {
	at, err := url.Parse(realm)
	if err != nil || realm == "" {
		return "", errors.New("the registry names no valid token service")
	}
	o, err := download.Origin(at)
	if err == nil && s.scheme == "https" && o.Scheme != "https" {
		err = errors.New("its address is not https")
	}
	if err != nil {
		return "", fmt.Errorf("the registry names a token service that is not used: %w", err)
	}
	scope := "repository:" + s.ref.Repository + ":pull"
	if s.write {
		scope += ",push"
	}
	query := url.Values{"service": {service}, "scope": {scope}}
	if service == "" {
		query.Del("service")
	}
	var r *http.Request
	if credential.IdentityToken != "" {
		query.Set("grant_type", "refresh_token")
		query.Set("client_id", "bulkhead")
		query.Set("refresh_token", credential.IdentityToken)
		if r, err = http.NewRequestWithContext(ctx, http.MethodPost, at.String(), strings.NewReader(query.Encode())); err == nil {
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
	} else {
		for name, values := range at.Query() {
			if !query.Has(name) {
				query[name] = values
			}
		}
		at.RawQuery = query.Encode()
		if r, err = http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil); err == nil && credential.Username != "" {
			r.Header.Set("Authorization", credential.basic())
		}
	}
	if err != nil {
		return "", errors.New("the registry names no valid token service")
	}
	return s.requestToken(r)
}

func (s *session) requestToken(r *http.Request) (string, error) {
	client := download.Client{Transport: s.client.HTTP.Transport, NoRedirects: true}
	response, err := client.Do(r)
	if err != nil {
		return "", fmt.Errorf("the registry's token service: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("the registry's token service: %w", responseError(response))
	}
	body, err := download.ReadAll(response.Body, maxToken)
	if err != nil {
		return "", fmt.Errorf("the registry's token service: %w", err)
	}
	var got struct {
		Token       string `json:"token"`
		AccessToken string `json:"access_token"`
	}
	if err := json.Unmarshal(body, &got); err != nil { // the error could contain the token
		return "", errors.New("the registry's token service sends no valid JSON")
	}
	if got.Token == "" {
		got.Token = got.AccessToken
	}
	if got.Token == "" || strings.ContainsFunc(got.Token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", errors.New("the registry's token service sends no token")
	}
	return got.Token, nil
}

// parseChallenge parses a WWW-Authenticate header with one challenge: SCHEME name="value",name=value.
func parseChallenge(text string) (scheme string, params map[string]string) {
	scheme, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	params = map[string]string{}
	for rest = strings.TrimLeft(rest, " ,"); rest != ""; rest = strings.TrimLeft(rest, " ,") {
		name, value, ok := strings.Cut(rest, "=")
		if !ok {
			break
		}
		name = strings.ToLower(strings.TrimSpace(name))
		if quoted, isQuoted := strings.CutPrefix(value, `"`); isQuoted {
			value, rest, _ = strings.Cut(quoted, `"`)
		} else {
			value, rest, _ = strings.Cut(value, ",")
		}
		if _, twice := params[name]; !twice {
			params[name] = strings.TrimSpace(value)
		}
	}
	return scheme, params
}

// errorCodes returns the codes in the body of an error. Texts are left out: they are the registry's.
func errorCodes(body []byte) []string {
	var got struct {
		Errors []struct {
			Code string `json:"code"`
		} `json:"errors"`
	}
	if json.Unmarshal(body, &got) != nil {
		return nil
	}
	var codes []string
	for _, e := range got.Errors {
		if e.Code != "" && len(e.Code) <= 40 && strings.Trim(e.Code, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == "" && len(codes) < 4 {
			codes = append(codes, e.Code)
		}
	}
	return codes
}
