package mind

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cairndb/cairn/oplog"
)

// Hand-written sentences; each line is a pair of memories.
const (
	contradictory = `Nina's flight leaves at 9:40.|Nina's flight leaves at 11:15.
The office wifi password is tulip42.|The office wifi password is rose77.
Maria Lopez is vegetarian.|Maria Lopez is not vegetarian.
The team lunch is on Tuesday.|The team lunch is on Friday.
Our primary database is Postgres.|Our primary database is MySQL.
The API rate limit is 100 requests per second.|The API rate limit is 250 requests per second.
Tom Baker lives in Paris.|Tom Baker moved to Rome.
Sara Kim works for Siemens.|Sara Kim is employed at Bosch.
The release date is 12 June.|The release date is 19 June.
Kim's phone number is 555-0101.|Kim's phone number is 555-0199.
Deploys go out on Mondays.|Deploys go out on Thursdays.
The staging server runs Ubuntu 20.04.|The staging server runs Ubuntu 22.04.
Leo prefers Vim.|Leo prefers Emacs.
The CEO of Orbit is Dana White.|The CEO of Orbit is Ravi Patel.
Priya is allergic to cats.|Priya is not allergic to cats.
The design review starts at 3pm.|The design review starts at 4pm.
Omar drives a Toyota.|Omar drives a Honda.
Project Zephyr is written in Rust.|Project Zephyr is written in Go.
The budget for Q3 is $20k.|The budget for Q3 is $35k.
Ivy's manager is Paul.|Ivy's manager is Greta.
The backup job runs every night at 2am.|The backup job runs every night at 4am.
Zoe's favourite food is sushi.|Zoe's favorite food is tacos.
Payroll is handled by Gusto.|Payroll is handled by Rippling.
Noah's wedding anniversary is May 4.|Noah's wedding anniversary is May 14.
The warehouse is located in Hamburg.|The warehouse is located in Bremen.
Ella speaks no German.|Ella speaks German.
Version 2.0 ships in March.|Version 2.0 ships in April.
The default timeout is 30 seconds.|The default timeout is 60 seconds.
Grace is married to Tom.|Grace is married to Will.
Lukas is 29 years old.|Lukas is 34 years old.
The quarterly offsite is in Denver.|The quarterly offsite is in Austin.
Hannah's badge number is 4471.|Hannah's badge number is 4417.
Our office closes at 6pm.|Our office closes at 8pm.
The on-call engineer is Pedro.|The on-call engineer is Mei.
Rosa doesn't drink coffee.|Rosa drinks coffee.
The retention period is 30 days.|The retention period is 90 days.
Invoices are sent on the 1st.|Invoices are sent on the 15th.
The mobile app is built with Flutter.|The mobile app is built with Swift.
Yusuf's middle name is Emre.|Yusuf's middle name is Can.
The lease ends in December.|The lease ends in August.`
	compatible = `Nina met Tom in Berlin.|Nina met Sara in Berlin.
The office has a new printer.|The office has a new coffee machine.
Maria Lopez visited Spain in 2019.|Maria Lopez visited Peru in 2021.
Leo read the onboarding guide.|Leo wrote the onboarding guide.
Project Zephyr passed the security review.|Project Zephyr failed the load test.
The staging server was restarted on Monday.|The staging server was patched on Tuesday.
Omar bought a bicycle.|Omar bought a tent.
Ivy closed ticket 482.|Ivy closed ticket 517.
Zoe attended the Go meetup.|Zoe attended the Rust meetup.
Payroll reported a bug in the export.|Payroll reported a delay in the import.
Noah likes jazz.|Noah likes hiking.
Ella plays the violin.|Ella plays tennis.
The API returned 500 errors in May.|The API returned 404 errors in June.
Grace presented the Q1 results.|Grace presented the Q2 results.
Lukas has a brother named Ben.|Lukas has a sister named Ana.
Tom Baker called about invoice 77.|Tom Baker called about invoice 81.
Sara Kim was in Oslo last week.|Sara Kim was in Lyon last month.
Kim uses Slack for chat.|Kim uses Jira for tickets.
The design team uses Figma.|The platform team uses Terraform.
Dana White joined the call from home.|Dana White left the call early.
The backup job failed on Sunday.|The backup job succeeded on Monday.
Version 2.0 adds dark mode.|Version 2.0 adds offline sync.
Priya owns two cats.|Priya owns a dog.
Ravi Patel is a member of the finance committee.|Ravi Patel is a member of the safety committee.
The warehouse received 300 boxes.|The warehouse shipped 120 boxes.
Pedro runs 5 kilometres.|Pedro runs 10 kilometres.
Rosa is patient.|Rosa is kind.
Hannah fixed the login page.|Hannah fixed the signup page.
Mei is tall.|Mei is an engineer.
The report is long.|The report is on the shared drive.`
	repeated = `Nina asked for a refund of her ticket.|Nina has asked for a refund of her ticket.
The office closes at 6pm on Fridays.|On Fridays the office closes at 6pm.
Maria Lopez is allergic to peanuts.|maria lopez is allergic to peanuts
Leo wants the report by Thursday.|Leo wants the report by Thursday, please.
Remember that Omar drives a Toyota.|Omar drives a Toyota.
The customer prefers email over phone.|The customer prefers email over phone calls.
Ivy's laptop needs a new battery.|Ivy's laptop needs a new battery soon.
Project Zephyr has been approved by the board.|Project Zephyr was approved by the board.
We decided to use feature flags for the rollout.|We decided to use feature flags for the rollout!
Noah will present the roadmap on Monday.|FYI: Noah will present the roadmap on Monday.
Grace likes to be called Gigi.|Grace likes being called Gigi.
Kim cannot attend the meeting on Friday.|Kim can't attend the meeting on Friday.
The backup runs at 2am every night.|The backup runs every night at 2am.
Zoe's favourite food is sushi.|Zoe's favorite food is sushi.
Lukas is learning to play the piano.|Lukas is currently learning to play the piano.
The invoice number for March is 4471.|Invoice number for March is 4471.`
)

// TestOtherWords checks that detection also works on sentences that no template generated.
func TestOtherWords(t *testing.T) {
	conflicts := func(x, y string) bool {
		s := &Snapshot{Rows: rows(2, func(i int, r *Row) { r.Text, r.Created = []string{x, y}[i], oplog.Time(i) })}
		found, err := Contradictions(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		return len(found) > 0
	}
	alike := func(x, y string) bool {
		m, n := meaningOf(x), meaningOf(y)
		return sameMeaning(&m, &n)
	}
	count := func(list string, f func(x, y string) bool, want bool) (n, all int) {
		for line := range strings.Lines(list) {
			x, y, _ := strings.Cut(strings.TrimSpace(line), "|")
			all++
			if f(x, y) {
				n++
			}
			if f(x, y) != want {
				t.Log(fmt.Sprint(x, " ", y))
			}
		}
		return n, all
	}
	right, all := count(contradictory, conflicts, true)
	wrong, _ := count(compatible, conflicts, false)
	if 10*right < 8*all || 10*right < 7*(right+wrong) {
		t.Errorf("%d of %d contradictions found, %d false alarms", right, all, wrong)
	}
	merged, twice := count(repeated, alike, true)
	if 10*merged < 8*twice {
		t.Errorf("%d of %d repetitions seen", merged, twice)
	}
	for _, list := range []string{contradictory, compatible} {
		if n, _ := count(list, alike, false); n > 0 {
			t.Errorf("%d pairs that say different things are taken for the same", n)
		}
	}
	t.Logf("%d of %d contradictions, %d false alarms, %d of %d repetitions", right, all, wrong, merged, twice)
}
