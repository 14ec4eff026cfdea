package yaml11_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bulkhead-mcp/bulkhead/plugins/aam/internal/realdata"
	"github.com/bulkhead-mcp/bulkhead/plugins/aam/yaml11"
)

// TestRecordedScalars parses each recorded scalar as the value of a key.
func TestRecordedScalars(t *testing.T) {
	var rows []struct {
		Text, Type string
		Value      any
		Error      *string
	}
	realdata.Recorded(t, "yaml-scalars.json", &rows)
	kinds := map[string]yaml11.Kind{"bool": yaml11.Bool, "str": yaml11.Text, "NoneType": yaml11.Null, "int": yaml11.Int,
		"float": yaml11.Float, "date": yaml11.Time, "datetime": yaml11.Time, "dict": yaml11.Mapping, "list": yaml11.List}
	for _, row := range rows {
		t.Run(fmt.Sprintf("%q", row.Text), func(t *testing.T) {
			document, err := yaml11.Parse([]byte("k: "+row.Text+"\n"), 1<<20)
			if row.Error != nil {
				if err == nil {
					t.Fatalf("got %s, want an error (%s)", document.Root().Field("k").Kind(), *row.Error)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			value := document.Root().Field("k")
			if want := kinds[row.Type]; value.Kind() != want {
				t.Fatalf("got %s, want %s", value.Kind(), want)
			}
			if value.Kind() == yaml11.Time {
				return // the recording has dates in another format
			}
			plain, err := value.Plain()
			if err != nil {
				t.Fatal(err)
			}
			got, _ := json.Marshal(plain)
			if number, ok := plain.(float64); ok && (math.IsNaN(number) || math.IsInf(number, 0)) {
				got, _ = json.Marshal(strings.TrimPrefix(strings.ToLower(fmt.Sprint(number)), "+"))
			}
			want, _ := json.Marshal(row.Value)
			if string(got) != string(want) {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

// TestRecordedEmission checks that Encode writes the recorded sample byte for byte.
func TestRecordedEmission(t *testing.T) {
	want := string(realdata.Read(t, "constructed", "recorded", "yaml-emitted.yaml"))
	document, err := yaml11.Parse([]byte(want), 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := document.Root().Plain()
	if err != nil {
		t.Fatal(err)
	}
	var values, recorded any
	encoded, _ := json.Marshal(plain)
	if err := json.Unmarshal(encoded, &values); err != nil {
		t.Fatal(err)
	}
	realdata.Recorded(t, "yaml-emitted.json", &recorded)
	if diff := cmp.Diff(recorded, values); diff != "" {
		t.Errorf("read (-want +got)\n%s", diff)
	}
	got, err := yaml11.Encode(plain.(yaml11.Map))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("written (-want +got)\n%s", diff)
	}
}

// TestRealFiles parses all YAML files of the sample data. A file that the aam program wrote must be equal after parsing
// and encoding.
func TestRealFiles(t *testing.T) {
	root := realdata.Path(t, "constructed")
	bad := []string{"homes/bad-yaml", "locks/lock-bad-yaml"}
	count := 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".yaml") {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		wantErr := false
		for _, part := range bad {
			wantErr = wantErr || strings.Contains(path, part)
		}
		document, err := yaml11.Parse(data, 1<<20)
		if (err != nil) != wantErr {
			t.Errorf("%s: got error %v, want one: %t", path, err, wantErr)
		}
		written := strings.Contains(path, "-registry/index.yaml") || strings.Contains(path, "metadata.yaml") || strings.Contains(path, "installed-") && strings.HasSuffix(path, "lock.yaml")
		if err != nil || !written || strings.Contains(path, "date-not-quoted") {
			return nil
		}
		count++
		plain, err := document.Root().Plain()
		if err != nil {
			t.Errorf("%s: %v", path, err)
			return nil
		}
		got, err := yaml11.Encode(plain.(yaml11.Map))
		if diff := cmp.Diff(string(data), string(got)); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got)\n%s", path, err, diff)
		}
		return nil
	})
	if err != nil || count < 20 {
		t.Errorf("%d files were encoded: %v", count, err)
	}
}

// TestFilesOfTheProgramAreParsedFast checks that the parser of frontmatter parses the files that the aam program writes
// without the YAML library, which allocates several times for each line, and that both return the same values for all
// files of the sample data.
func TestFilesOfTheProgramAreParsedFast(t *testing.T) {
	count := 0
	err := filepath.WalkDir(realdata.Path(t), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".yaml") {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		document, err := yaml11.Parse(data, 1<<20)
		if err != nil || strings.HasPrefix(string(data), "---") {
			return nil
		}
		byLibrary, err := yaml11.Parse(append([]byte("---\n"), data...), 1<<20)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		got, _ := document.Root().Plain()
		want, _ := byLibrary.Root().Plain()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-library +got)\n%s", path, diff)
		}
		if strings.HasSuffix(path, "-registry/index.yaml") || strings.HasSuffix(path, "metadata.yaml") && strings.Contains(path, "-registry/") {
			count++
			allocations := testing.AllocsPerRun(1, func() { _, _ = yaml11.Parse(data, 1<<20) })
			if allocations > float64(20+strings.Count(string(data), "\n")) {
				t.Errorf("%s was parsed by the library, with %v allocations", path, allocations)
			}
		}
		return nil
	})
	if err != nil || count < 20 {
		t.Errorf("%d files, %v", count, err)
	}
}
