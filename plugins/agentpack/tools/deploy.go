package tools

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/deploy"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/env"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/fault"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/plan"
	"github.com/bulkhead-mcp/bulkhead/plugins/agentpack/token"
	"github.com/bulkhead-mcp/bulkhead/sdk"
	"github.com/bulkhead-mcp/bulkhead/sdk/abi"
	"github.com/bulkhead-mcp/bulkhead/sdk/digest"
	"github.com/bulkhead-mcp/bulkhead/sdk/filesystem"
	"github.com/bulkhead-mcp/bulkhead/sdk/transaction"
)

// lockName is the name of the lock that each call which writes or issues tokens takes. All servers of one user share
// the lock.
const lockName = "agentpack"

// maxSample is the maximum number of paths in the details of an error.
const maxSample = 20

// deployed is the payload of the tools deploy and deploy_apply.
type deployed struct {
	Applied    bool   `json:"applied"`
	Reason     string `json:"reason,omitempty"`
	SnapshotID string `json:"snapshot_id,omitempty"`
	planned
	*confirmation
}

// confirmation is the part of the payload of deploy that describes the confirm token.
type confirmation struct {
	Token     string `json:"confirm_token"`
	PlanHash  string `json:"confirm_plan_hash"`
	ExpiresAt string `json:"confirm_token_expires_at"`
}

// rolledBack is the payload of the tool rollback.
type rolledBack struct {
	To    string `json:"rolled_back_to"`
	Event string `json:"event_snapshot_id"`
}

// lock excludes other calls that write, until this call ends. A call that writes must take the lock before it reads any
// file.
func lock() error {
	if err := sdk.Lock(lockName); err != nil {
		return fmt.Errorf("cannot get the lock, which other writing calls may hold: %w", err)
	}
	return nil
}

func (c *call) deployer() deploy.Deployer {
	return deploy.Deployer{Env: c.services.Env, FS: privateFS{filesystem.OS{Modes: copyMode}, c.createsPrivate}}
}

// privateMode is the mode of new files.
const privateMode = 0o600

// privateFS is a file system that creates files which only their owner can read, as the real agentpack does. When a new
// file replaces an existing file, package transaction then gives the new file the mode of the existing file.
type privateFS struct {
	filesystem.OS
	byHost bool // the host creates files with privateMode
}

// Create implements filesystem.FS.
func (f privateFS) Create(path string, mode fs.FileMode) (filesystem.File, error) {
	file, err := f.OS.Create(path, mode)
	if err != nil {
		return nil, err
	}
	if f.byHost {
		return file, nil
	}
	if err := makePrivate(path); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// createPrivate makes the host create files with privateMode. A host without that operation leaves it to privateFS.
func (c *call) createPrivate() error {
	err := sdk.HostCall(abi.OpFSCreateMode, abi.FileCreateMode{Mode: privateMode}, nil)
	c.createsPrivate = err == nil
	if refused := (*sdk.HostError)(nil); errors.As(err, &refused) && refused.Code == abi.HostUnavailable {
		return nil
	}
	return err
}

// copyMode gives the file at "to", which privateFS has created, the mode of the file at "from". It uses host operations,
// because WASI has no file modes.
func copyMode(from, to string) error {
	var mode abi.FileModeResult
	if err := sdk.HostCall(abi.OpFSMode, abi.FileMode{Path: from}, &mode); err != nil {
		if _, err := os.Stat(from); err != nil {
			return err // this error matches fs.ErrNotExist, which an error of the host operation does not match
		}
		return err
	}
	if mode.Mode == privateMode {
		return nil
	}
	return sdk.HostCall(abi.OpFSMode, abi.FileMode{Path: to, Mode: &mode.Mode}, nil)
}

// recover takes the lock, and completes or rolls back the changes of an interrupted call. So this call reads a
// consistent state.
func (c *call) recover() error {
	if err := lock(); err != nil {
		return err
	}
	if err := c.createPrivate(); err != nil {
		return err
	}
	c.services.Env.Now = c.now() // a token can have expired while the call waited for the lock
	note, err := c.deployer().Recover()
	if note != "" {
		c.notes = append(c.notes, note)
	}
	if err != nil {
		return fmt.Errorf("the changes of an interrupted call cannot be recovered: %w", err)
	}
	c.recovered = true
	return nil
}

// pending adds a warning if an earlier call was interrupted. It is for calls that only read, and so do not recover.
func (c *call) pending() {
	if c.recovered {
		return
	}
	switch left, err := c.deployer().Applier().Pending(); {
	case err != nil:
		c.warnings = append(c.warnings, fmt.Sprintf("cannot determine whether an earlier call was interrupted while it wrote: %s", err))
	case left:
		c.warnings = append(c.warnings, "another call is writing now, or was interrupted while it wrote: some files may be old and others new; the next deploy, doctor or call that writes recovers them")
	}
}

// tokenStore returns the Store that keeps its files in the plugin's state directory.
func tokenStore() (token.Store, error) {
	dir := os.Getenv("BULKHEAD_STATE")
	if dir == "" {
		return token.Store{}, errors.New("the plugin has no state directory for the key of confirm tokens: set HOME or XDG_STATE_HOME in the environment of the host")
	}
	return token.Store{Dir: dir, Private: makePrivate}, nil
}

// makePrivate makes the file at path readable only by its owner.
func makePrivate(path string) error {
	mode := uint32(privateMode)
	return sdk.HostCall(abi.OpFSMode, abi.FileMode{Path: path, Mode: &mode}, nil)
}

// binding returns the effective arguments of the call, to which its confirm token is bound.
func (c *call) binding() token.Binding {
	return token.Binding{
		Machine: env.MachineID(c.services.Env, c.machine), Profile: c.profile,
		Repo: c.services.Env.RepoDir(c.repo), Target: c.target,
	}
}

// deployPlan returns a plan, and a token with which the caller can confirm the plan.
func deployPlan(c *call) (any, error) {
	if err := c.recover(); err != nil {
		return nil, err
	}
	store, err := tokenStore()
	if err != nil {
		return nil, err
	}
	_, computed, err := c.plan()
	if err != nil {
		return nil, err
	}
	hash, err := token.PlanHash(c.binding(), deployed{planned: computed})
	if err != nil {
		return nil, err
	}
	issued, err := store.Issue(c.binding(), hash, c.services.Env.Now)
	if err != nil {
		return nil, err
	}
	return deployed{planned: computed, confirmation: &confirmation{
		Token: issued.Token, PlanHash: hash, ExpiresAt: issued.Expires.UTC().Format(time.RFC3339Nano),
	}}, nil
}

// deployApply executes the plan for which the token was issued. It fails if the current plan differs from that plan.
func deployApply(c *call) (any, error) {
	if c.dryRun {
		_, computed, err := c.plan()
		return deployed{planned: computed}, err
	}
	if c.confirmToken == "" {
		_, err := token.Store{}.Check("", c.binding(), c.services.Env.Now)
		return nil, err
	}
	if err := c.recover(); err != nil {
		return nil, err
	}
	store, err := tokenStore()
	if err != nil {
		return nil, err
	}
	result, computed, claim, err := c.confirmed(store)
	if err != nil {
		return nil, err
	}
	if err := checkAdopt(computed.Plan, c.adopt); err != nil {
		return nil, err
	}
	if deploy.IsNoOp(result.State, computed.Plan) {
		return deployed{planned: computed, Reason: "no_changes"}, store.Use(claim, c.services.Env.Now)
	}
	used, err := c.used(store, claim)
	if err != nil {
		return nil, err
	}
	id, err := c.deployer().Apply(deploy.Request{
		State: result.State, Plan: computed.Plan, LockSHA256: result.Lock.SHA256, Extra: []transaction.Change{used},
	})
	if err != nil {
		return nil, changedFault(err)
	}
	return deployed{Applied: true, SnapshotID: id, planned: computed}, nil
}

// used returns the change that records a token as used. The change belongs to the transaction of the deploy, so an
// interrupted call uses the token if and only if it deploys.
func (c *call) used(store token.Store, claim token.Claim) (transaction.Change, error) {
	file, before, after, err := store.Used(claim, c.services.Env.Now)
	change := transaction.Change{Root: store.Dir, Path: file, After: after}
	if before != nil {
		change.Before = digest.Hex(before)
	}
	return change, err
}

// confirmed computes the plan again. It returns a fault unless the caller's token was issued for this plan.
func (c *call) confirmed(store token.Store) (*plan.Prepared, planned, token.Claim, error) {
	fail := func(err error) (*plan.Prepared, planned, token.Claim, error) {
		return nil, planned{}, token.Claim{}, err
	}
	claim, err := store.Check(c.confirmToken, c.binding(), c.services.Env.Now)
	if err != nil {
		return fail(err)
	}
	result, computed, err := c.plan()
	if err != nil {
		return fail(fault.New(fault.ConfirmTokenMismatch, fault.Details{
			"hint": "fix the error in the message, then call deploy again", "expected_confirm_plan_hash": claim.PlanHash(),
		}, "the confirmed plan can no longer be made: %w", err))
	}
	hash, err := token.PlanHash(c.binding(), deployed{planned: computed})
	if err != nil {
		return fail(err)
	}
	if err := claim.Matches(hash); err != nil {
		return fail(err)
	}
	return result, computed, claim, nil
}

// checkAdopt returns a fault if the plan overwrites files that agentpack does not manage, and the argument adopt is not
// set.
func checkAdopt(planned plan.Plan, adopt bool) error {
	paths := planned.Adopts()
	if adopt || len(paths) == 0 {
		return nil
	}
	return fault.New(fault.AdoptConfirmRequired, fault.Details{
		"flag": "--adopt", "adopt_updates": len(paths), "sample_paths": paths[:min(len(paths), maxSample)],
	}, "the plan overwrites %d files that agentpack has not written; to allow this, call again with adopt = true and the same confirm_token", len(paths))
}

// changedFault converts transaction.ErrChanged to a fault. The error means that a file has changed since the plan was
// computed, so the confirmed plan no longer matches.
func changedFault(err error) error {
	if !errors.Is(err, transaction.ErrChanged) {
		return err
	}
	return fault.New(fault.ConfirmTokenMismatch, fault.Details{"hint": "call deploy again for a current plan"}, "%w", err)
}

// rollback restores the state that a snapshot recorded.
func rollback(c *call) (any, error) {
	if err := c.recover(); err != nil {
		return nil, err
	}
	event, warnings, err := c.deployer().Rollback(c.to)
	if err != nil {
		return nil, err
	}
	c.warnings = append(c.warnings, warnings...)
	return rolledBack{To: c.to, Event: event}, nil
}
