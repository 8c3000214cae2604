package wireport

import (
	"context"
	"errors"
	"fmt"

	"github.com/cairndb/cairn/node/access"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire"
)

// auth handles the first frame.
func (ss *session) auth(ctx context.Context, f wire.Frame) bool {
	if !f.Op.Known() {
		_ = ss.fail(f, &wire.Error{Code: wire.CodeInvalidPayload, Message: fmt.Sprintf("unknown opcode: 0x%02X", uint8(f.Op))})
		return false
	}
	if f.Op != wire.OpAuth {
		_ = ss.fail(f, &wire.Error{Code: wire.CodeAuthRequired, Message: "expected AUTH frame"})
		return false
	}
	var m wire.Auth
	if err := wire.Unpack(f, &m, wire.MaxPlainEarly); err != nil {
		_ = ss.reply(f, wire.OpAuthFail, &wire.AuthFail{Reason: "invalid AUTH payload"})
		return false
	}
	c, err := ss.w.cfg.Access.Login(ctx, ss.nc.RemoteAddr().String(), m.Token)
	if err != nil {
		no := &wire.AuthFail{Reason: access.ErrToken.Text, Retry: errors.Is(err, &oplog.Error{Kind: oplog.Unavailable})}
		if _, ok := errors.AsType[*access.Limited](err); ok || no.Retry {
			no.Reason = err.Error()
		}
		_ = ss.reply(f, wire.OpAuthFail, no)
		return false
	}
	if !ss.place.Known(c.Principal()) {
		_ = ss.reply(f, wire.OpAuthFail, &wire.AuthFail{Reason: "too many connections of this client; retry"})
		return false
	}
	c.Forward, c.Surface = ss.w.cfg.Forward, "wire"
	ss.setCaller(c)
	return ss.reply(f, wire.OpAuthOK, &wire.AuthOK{Database: c.Database, DatabaseID: uint32(c.DB)}) == nil
}

// setCaller sets the caller of later requests.
func (ss *session) setCaller(c api.Caller) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	ss.caller = c
}

// selectDB switches to another database.
func (ss *session) selectDB(ctx context.Context, _ api.Caller, f wire.Frame) error {
	var m wire.Name
	if err := ss.unpack(f, &m); err != nil {
		return err
	}
	c, err := ss.w.cfg.Access.Find(ctx, ss.currentCaller(), m.Name)
	if errors.Is(err, &oplog.Error{Kind: oplog.NotFound}) {
		return &codedError{wire.CodeDBNotFound, err}
	}
	if err != nil {
		return err
	}
	ss.setCaller(c)
	return ss.reply(f, wire.OpDBOK,
		&wire.DBOK{ID: uint32(c.DB), Message: fmt.Sprintf("database '%s' selected", c.Database), Name: c.Database})
}
