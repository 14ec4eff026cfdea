//go:build unix

package tests

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// keycloak is a Keycloak with a realm named team.
type keycloak struct {
	t            *testing.T
	base, issuer string
}

// startKeycloak starts the Keycloak that .ci/keycloak has installed. It trusts a certificate beside those of the system.
func startKeycloak(t *testing.T, authority string) *keycloak {
	t.Helper()
	dir := os.Getenv("BULKHEAD_KEYCLOAK")
	if dir == "" {
		t.Skip("run by just keycloak")
	}
	_, port, _ := net.SplitHostPort(freeAddress(t))
	cmd := exec.Command(filepath.Join(dir, "bin", "kc.sh"), "start-dev", "--http-host=127.0.0.1", "--http-port="+port, "--db=dev-mem", "--features=cimd", "--truststore-paths="+authority)
	cmd.Env = append(cmd.Environ(), "KC_BOOTSTRAP_ADMIN_USERNAME=admin", "KC_BOOTSTRAP_ADMIN_PASSWORD=admin", "JAVA_OPTS_APPEND=-Xmx700m")
	log := &logBuffer{}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // kc.sh starts Java
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // it may have ended
		<-exited
		if t.Failed() {
			t.Logf("log of Keycloak:\n%s", log)
		}
	})
	k := &keycloak{t: t, base: "http://127.0.0.1:" + port}
	k.issuer = k.base + "/realms/team"
	for end := time.Now().Add(10 * time.Minute); ; time.Sleep(time.Second) {
		if response, err := http.Get(k.base + "/realms/master"); err == nil {
			response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return k
			}
		}
		select {
		case err := <-exited:
			exited <- err
			t.Fatalf("Keycloak ended: %v", err)
		default:
		}
		if time.Now().After(end) {
			t.Fatal("Keycloak does not answer")
		}
	}
}

// tokens requests tokens of a realm with the password of a user.
func (k *keycloak) tokens(realm, client, user, password string) (status int, t struct {
	Access  string `json:"access_token"`
	ID      string `json:"id_token"`
	Refresh string `json:"refresh_token"`
}) {
	k.t.Helper()
	response, err := http.PostForm(k.base+"/realms/"+realm+"/protocol/openid-connect/token",
		url.Values{"grant_type": {"password"}, "client_id": {client}, "username": {user}, "password": {password}, "scope": {"openid"}})
	if err != nil {
		k.t.Fatal(err)
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(&t); err != nil {
		k.t.Fatal(err)
	}
	return response.StatusCode, t
}

// token returns an access token of the realm.
func (k *keycloak) token(client, user string) string {
	k.t.Helper()
	status, tokens := k.tokens("team", client, user, "any")
	if status != http.StatusOK {
		k.t.Fatalf("no token of %s for %s: status %d", client, user, status)
	}
	return tokens.Access
}

// admin sends a request to the API for administration, and returns the last part of the address of what was made, or the decoded answer.
func (k *keycloak) admin(method, path, body string, answer any) (made string) {
	k.t.Helper()
	_, admin := k.tokens("master", "admin-cli", "admin", "admin")
	r, err := http.NewRequestWithContext(k.t.Context(), method, k.base+"/admin/realms"+path, strings.NewReader(body))
	if err != nil {
		k.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+admin.Access)
	r.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		k.t.Fatal(err)
	}
	text := readAll(k.t, response)
	if response.StatusCode/100 != 2 {
		k.t.Fatalf("%s %s: status %d %s", method, path, response.StatusCode, text)
	}
	if answer != nil {
		if err := json.Unmarshal([]byte(text), answer); err != nil {
			k.t.Fatal(err)
		}
	}
	location := response.Header.Get("Location")
	return location[strings.LastIndexByte(location, '/')+1:]
}

// component is a part of a realm: a provider of keys, or a policy for the registration of clients.
type component struct{ ID, Name, ProviderID, SubType string }

func (k *keycloak) components(kind string) (all []component) {
	k.t.Helper()
	k.admin(http.MethodGet, "/team/components?type="+kind, "", &all)
	return all
}

const (
	kindPolicy = "org.keycloak.services.clientregistration.policy.ClientRegistrationPolicy"
	kindKeys   = "org.keycloak.keys.KeyProvider"
)

// setUp makes the realm: ann, a developer, and bob; the scope mcp:use, with which tokens are for an audience and name groups; a client with and one
// without it, and one whose tokens are valid for a second. Clients of 127.0.0.1 may register, or be known by the URL of their metadata there.
func (k *keycloak) setUp(audience string) {
	k.t.Helper()
	user := func(name, groups string) string {
		return fmt.Sprintf(`{"username":%q,"enabled":true,"email":"%[1]s@example.com","emailVerified":true,"firstName":%[1]q,"lastName":"A","groups":[%s],`+
			`"credentials":[{"type":"password","value":"any","temporary":false}]}`, name, groups)
	}
	k.admin(http.MethodPost, "", fmt.Sprintf(`{"realm":"team","enabled":true,"accessTokenLifespan":600,"groups":[{"name":"developers"}],"users":[%s,%s]}`,
		user("ann", `"/developers"`), user("bob", "")), nil)
	scope := k.admin(http.MethodPost, "/team/client-scopes", fmt.Sprintf(`{"name":"mcp:use","protocol":"openid-connect","attributes":{"include.in.token.scope":"true"},"protocolMappers":[
		{"name":"audience","protocol":"openid-connect","protocolMapper":"oidc-audience-mapper","config":{"included.custom.audience":%q,"access.token.claim":"true"}},
		{"name":"groups","protocol":"openid-connect","protocolMapper":"oidc-group-membership-mapper","config":{"claim.name":"groups","full.path":"false","access.token.claim":"true"}}]}`, audience), nil)
	k.admin(http.MethodPut, "/team/default-default-client-scopes/"+scope, "", nil)
	for name, more := range map[string]string{"tests": "", "elsewhere": `,"defaultClientScopes":["basic"]`, "brief": `,"attributes":{"access.token.lifespan":"1"}`} {
		k.admin(http.MethodPost, "/team/clients", fmt.Sprintf(`{"clientId":%q,"publicClient":true,"directAccessGrantsEnabled":true,"standardFlowEnabled":false%s}`, name, more), nil)
	}
	for _, policy := range k.components(kindPolicy) {
		if policy.ProviderID == "trusted-hosts" && policy.SubType == "anonymous" {
			k.admin(http.MethodDelete, "/team/components/"+policy.ID, "", nil)
		}
	}
	k.admin(http.MethodPut, "/team/client-policies/profiles",
		`{"profiles":[{"name":"documents","executors":[{"executor":"client-id-metadata-document","configuration":{"cimd-allow-permitted-domains":["127.0.0.1"]}}]}]}`, nil)
	k.admin(http.MethodPut, "/team/client-policies/policies", `{"policies":[{"name":"documents","enabled":true,"profiles":["documents"],"conditions":[
		{"condition":"client-id-uri","configuration":{"client-id-uri-scheme":["https"],"client-id-uri-allow-permitted-domains":["127.0.0.1"]}}]}]}`, nil)
}

// rotate replaces the key that signs tokens.
func (k *keycloak) rotate() {
	k.t.Helper()
	old := k.components(kindKeys)
	k.admin(http.MethodPost, "/team/components", fmt.Sprintf(`{"name":"next","providerId":"rsa-generated","providerType":%q,"config":{"priority":["200"],"keySize":["2048"],"algorithm":["RS256"],"enabled":["true"],"active":["true"]}}`, kindKeys), nil)
	for _, c := range old {
		if c.ProviderID == "rsa-generated" {
			k.admin(http.MethodDelete, "/team/components/"+c.ID, "", nil)
		}
	}
}

// TestKeycloak has a Keycloak whose users log in with the official SDKs, and tokens of it that are refused.
func TestKeycloak(t *testing.T) {
	document, authority := clientDocument(t)
	k := startKeycloak(t, authority)
	address := freeAddress(t)
	k.setUp("http://" + address + "/mcp")
	s := serveLogin(t, address, k.issuer, fmt.Sprintf("[[clients]]\nname = \"developers\"\nmatch = { issuer = %q, groups = [\"developers\"] }\n", k.issuer))
	for name, options := range map[string]string{"registration": "{}", "metadata document": fmt.Sprintf(`{"client":%q}`, document)} {
		for _, c := range loginClients {
			t.Run(name+"/"+c.name, func(t *testing.T) {
				if got := s.logIn(t, c, options); got.Tools == 0 || got.Logins != 1 || !strings.Contains(got.Scope, "mcp:use") || (got.Client == document) != (options != "{}") {
					t.Errorf("got %+v", got)
				}
			})
		}
	}
	want := func(what, token string, status int, reason string) {
		t.Helper()
		if got, text := s.list(t, token); got != status || !strings.Contains(text, reason) {
			t.Errorf("%s: got %d %s, want %d, %s", what, got, text, status, reason)
		}
	}
	ann := k.token("tests", "ann")
	_, all := k.tokens("team", "tests", "ann", "any")
	_, master := k.tokens("master", "admin-cli", "admin", "admin")
	want("ann", ann, http.StatusOK, "tools")
	want("bob, who is in no group", k.token("tests", "bob"), http.StatusForbidden, "nothing")
	want("another audience", k.token("elsewhere", "ann"), http.StatusUnauthorized, "audience")
	want("another realm", master.Access, http.StatusUnauthorized, "issuer of the token is not accepted")
	want("an ID token", all.ID, http.StatusUnauthorized, "not an access token")
	want("a refresh token", all.Refresh, http.StatusUnauthorized, "algorithm")
	parts := strings.Split(ann, ".")
	want("unsigned", parts[0]+"."+parts[1]+".", http.StatusUnauthorized, "signature")

	var users []struct{ ID string }
	k.admin(http.MethodGet, "/team/users?username=ann", "", &users)
	k.admin(http.MethodPut, "/team/users/"+users[0].ID, `{"enabled":false}`, nil)
	want("an account that was closed, until the token expires", ann, http.StatusOK, "tools")
	if status, _ := k.tokens("team", "tests", "ann", "any"); status == http.StatusOK {
		t.Error("a closed account gets a token")
	}
	k.admin(http.MethodPut, "/team/users/"+users[0].ID, `{"enabled":true}`, nil)

	k.rotate()
	next := k.token("tests", "ann")
	for end := time.Now().Add(patience); ; time.Sleep(500 * time.Millisecond) {
		if status, text := s.list(t, next); status == http.StatusOK {
			break
		} else if time.Now().After(end) {
			t.Fatalf("the next key is not accepted: %d %s", status, text)
		}
	}
	want("the former key", ann, http.StatusUnauthorized, "no such key")
	brief := k.token("brief", "ann")
	time.Sleep(63 * time.Second) // the clocks may differ by a minute
	want("expired", brief, http.StatusUnauthorized, "has expired")
	s.wantRecords(t, []string{`"http_token"`, `"http_client"`, `"reason":"the token has expired"`}, ann, brief, next, all.ID, all.Refresh, master.Access)
}
