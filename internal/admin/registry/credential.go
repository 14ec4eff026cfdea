package registry

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
)

// Credential is a user's credential for a registry. Either Username and Password are set, or IdentityToken.
type Credential struct {
	Username, Password, IdentityToken string
}

// String keeps secrets out of messages.
func (c Credential) String() string { return "credential of " + c.Username }

// GoString is String.
func (c Credential) GoString() string { return c.String() }

// Bounds of what is read for a credential.
const (
	maxDockerConfig = 1 << 20 // bytes
	maxHelperOutput = 64 << 10
	helperTime      = 30 * time.Second
)

// dockerConfig is the part of Docker's config.json that has credentials.
type dockerConfig struct {
	Auths map[string]struct {
		Auth          string `json:"auth"`
		IdentityToken string `json:"identitytoken"`
	} `json:"auths"`
	CredHelpers map[string]string `json:"credHelpers"`
	CredsStore  string            `json:"credsStore"`
}

// DockerConfig returns the path of Docker's config.json; empty if there is no location for it.
func DockerConfig(lookupEnv func(name string) (string, bool)) string {
	if dir, ok := lookupEnv("DOCKER_CONFIG"); ok && dir != "" {
		return filepath.Join(dir, "config.json")
	}
	if home, ok := lookupEnv("HOME"); ok && home != "" {
		return filepath.Join(home, ".docker", "config.json")
	}
	return ""
}

// DockerCredentials returns a function for Client.Credential that reads the credentials in Docker's config.json and in the helpers that it
// names. A file that does not exist has none.
func DockerCredentials(file string) func(ctx context.Context, registry string) (Credential, error) {
	return func(ctx context.Context, registry string) (Credential, error) {
		if file == "" {
			return Credential{}, nil
		}
		text, err := filesystem.ReadFile(filesystem.OS{}, file, maxDockerConfig)
		if errors.Is(err, fs.ErrNotExist) {
			return Credential{}, nil
		}
		if err != nil {
			return Credential{}, err
		}
		var config dockerConfig
		if err := json.Unmarshal(text, &config); err != nil { // the error could contain a secret
			return Credential{}, fmt.Errorf("%s is not valid JSON", file)
		}
		credential, err := config.find(ctx, registry)
		if err != nil {
			return Credential{}, fmt.Errorf("%s: %w", file, err)
		}
		return credential, nil
	}
}

// keys returns the names under which Docker stores the credential of a registry.
func keys(registry string) []string {
	if registry == dockerHub {
		return []string{"https://index.docker.io/v1/", dockerHub}
	}
	return []string{registry, "https://" + registry, "https://" + registry + "/v1/", "https://" + registry + "/v2/"}
}

func (c *dockerConfig) find(ctx context.Context, registry string) (Credential, error) {
	for _, key := range keys(registry) {
		if helper := c.CredHelpers[key]; helper != "" {
			return runHelper(ctx, helper, key)
		}
	}
	if c.CredsStore != "" {
		for _, key := range keys(registry)[:1] {
			if found, err := runHelper(ctx, c.CredsStore, key); err != nil || found != (Credential{}) {
				return found, err
			}
		}
	}
	for _, key := range keys(registry) {
		entry, ok := c.Auths[key]
		if !ok {
			continue
		}
		if entry.IdentityToken != "" {
			return Credential{IdentityToken: entry.IdentityToken}, nil
		}
		if entry.Auth == "" {
			continue // docker login leaves such entries beside a helper
		}
		plain, err := base64.StdEncoding.DecodeString(entry.Auth)
		user, password, ok := strings.Cut(strings.TrimRight(string(plain), "\x00"), ":")
		if err != nil || !ok || user == "" {
			return Credential{}, fmt.Errorf("the entry auths of %s is not valid: log in again", registry)
		}
		return Credential{Username: user, Password: password}, nil
	}
	return Credential{}, nil
}

// runHelper asks a credential helper of Docker for the credential of key.
func runHelper(ctx context.Context, name, key string) (Credential, error) {
	if strings.ContainsFunc(name, func(r rune) bool { return r > '~' || !isLowerAlnum(byte(r)|0x20) && !strings.ContainsRune("-_.", r) }) {
		return Credential{}, fmt.Errorf("the name of the credential helper %.40q is not valid", name)
	}
	ctx, cancel := context.WithTimeout(ctx, helperTime)
	defer cancel()
	command := exec.CommandContext(ctx, "docker-credential-"+name, "get")
	command.Stdin = strings.NewReader(key)
	command.WaitDelay = time.Second
	out := &boundedBuffer{limit: maxHelperOutput}
	command.Stdout = out
	err := command.Run()
	if err != nil && strings.Contains(strings.ToLower(string(out.text)), "credentials not found") {
		return Credential{}, nil
	}
	if err != nil {
		return Credential{}, fmt.Errorf("the credential helper docker-credential-%s failed: %w", name, err)
	}
	var got struct{ Username, Secret string }
	if err := json.Unmarshal(out.text, &got); err != nil || got.Secret == "" {
		return Credential{}, fmt.Errorf("the credential helper docker-credential-%s printed no credential", name)
	}
	if got.Username == "<token>" {
		return Credential{IdentityToken: got.Secret}, nil
	}
	return Credential{Username: got.Username, Password: got.Secret}, nil
}

// boundedBuffer keeps at most limit bytes, and fails a write of more. It has no other methods of bytes.Buffer: io.Copy would call ReadFrom.
type boundedBuffer struct {
	text  []byte
	limit int
}

func (b *boundedBuffer) Write(p []byte) (int, error) {
	if len(b.text)+len(p) > b.limit {
		return 0, errors.New("too much output")
	}
	b.text = append(b.text, p...)
	return len(p), nil
}
