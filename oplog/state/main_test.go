package state

import (
	"os"
	"testing"

	"github.com/cairndb/cairn/oplog/suite"
)

func TestMain(m *testing.M) {
	suite.Checks(15)
	os.Exit(m.Run())
}
