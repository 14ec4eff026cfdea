package bearer

import (
	"strings"
	"testing"
)

func TestSecretsCannotBeGuessed(t *testing.T) {
	token := NewSecret()
	if err := CheckSecret(token); err != nil || token == NewSecret() || len(token)*5 != SecretBits { // digits of base 32
		t.Errorf("%q: %v", token, err)
	}
	for _, bad := range []string{"", "short", strings.Repeat("x", 19), strings.Repeat("x", 20) + " ", strings.Repeat("ü", 20), strings.Repeat("x", 5000)} {
		if err := CheckSecret(bad); err == nil || bad != "" && strings.Contains(err.Error(), bad) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
