package engine

import (
	"strings"
	"testing"
)

func TestLoadRefusesUnknownKind(t *testing.T) {
	_, err := Load(t.Context(), Spec{Name: "guest", Kind: "abi-9", Code: compiled(t, guest()).Dir})
	if failure := wantCode(t, err, CodeInternal); !strings.Contains(failure.Message, `"abi-9"`) {
		t.Errorf("got %q, want it to name the kind", failure.Message)
	}
}
