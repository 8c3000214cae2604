package mind_test

import (
	"testing"

	"github.com/cairndb/cairn/node/mind"
)

// TestChangesReplace checks that a statement of a change replaces an older one about the same thing, or with the old
// value, however the older one begins.
func TestChangesReplace(t *testing.T) {
	for _, c := range [][2]string{
		{"Our CI runs on Jenkins.", "CI moved to GitHub Actions."},
		{"The API rate limit is 100 requests per minute.", "We raised the API rate limit to 250 requests per minute."},
		{"The dog's name is Rex.", "We renamed the dog to Bruno."},
		{"The frontend is written in Angular.", "We rewrote the frontend in React."},
		{"The meeting with Acme is on Friday at 10.", "The Acme meeting was pushed to Monday at 14:00."},
		{"The release is planned for March 3.", "The release slipped to March 17."},
		{"We use Slack for chat.", "The team switched from Slack to Zulip."},
		{"Sam drives a Golf.", "Sam sold his Golf and bought a Tesla."},
		{"The budget for Q3 is 40k.", "Finance cut the Q3 budget to 32k."},
		{"The default branch is master.", "We renamed master to main."},
		{"Lena is in the choir.", "Lena switched from the choir to the band."},
		{"The standup is in the small room.", "The standup moved to the big kitchen."},
		{"The standup is at 9:30.", "We moved the standup to 10:00."},
		{"The queue runs on RabbitMQ.", "We migrated the queue from RabbitMQ to NATS."},
		{"The queue runs on RabbitMQ.", "The queue was moved to NATS."},
		{"The session timeout is 30 minutes.", "Session timeout was lowered to 15 minutes."},
		{"We use Trello.", "We ditched Trello."},
		{"Our mascot is called Pip.", "Our mascot was renamed to Bolt."},
		{"The cron service is written in Python.", "The cron service was rewritten in Go."},
		{"The team uses Figma for mockups.", "We replaced Figma with Penpot."},
		{"We have Netflix.", "I cancelled Netflix."},
		{"The offsite is on May 3.", "The offsite was postponed to June 14."},
		{"The dentist appointment is on Tuesday at 9.", "My dentist appointment was rescheduled to Thursday at 11."},
		{"The max upload size is 10 MB.", "Max upload size was increased to 50 MB."},
		{"The main repository is acme-core.", "We renamed acme-core to acme-platform."},
		{"Ben owns a motorbike.", "Ben sold his motorbike."},
		{"The demo is scheduled for Monday.", "The demo has been pushed back to Wednesday."},
	} {
		if r, ok := mind.Read(c[1]).Replaces(c[0], mind.Relations{}); !ok || r.How != mind.Told {
			t.Errorf("%q, then %q: %+v, %t", c[0], c[1], r, ok)
		}
	}
}

// TestChangesOfOthersReplaceNothing checks that a change does not replace statements about another thing, another
// property of it or somebody else's, and that a change that did not happen replaces nothing.
func TestChangesOfOthersReplaceNothing(t *testing.T) {
	for _, c := range [][2]string{
		{"Our CI takes 12 minutes.", "CI moved to GitHub Actions."},
		{"Our CI is slow.", "CI moved to GitHub Actions."},
		{"The user works at Siemens.", "The user has moved to Hamburg."},
		{"The user is a vegetarian.", "The user has moved to Hamburg."},
		{"The standup is at 9:30.", "The standup moved to the big room."},
		{"The standup is in room 4.", "The standup moved to 10:00."},
		{"We use Slack for alerts.", "Sam switched from Slack to Zulip."},
		{"Alice uses Slack with customers.", "The ops team switched from Slack to Zulip."},
		{"Slack costs 7 euros a seat.", "We switched from Slack to Zulip."},
		{"Sam drives a Golf.", "Tom sold his Golf."},
		{"Sam plays golf.", "Sam sold his Golf."},
		{"The API rate limit for free users is 100 per minute.", "We raised the API rate limit to 250."},
		{"The release of Apollo is planned for March 3.", "The release slipped to March 17."},
		{"The release is on the stable branch.", "The release slipped to March 17."},
		{"The Q2 budget is 40k.", "Finance cut the Q3 budget to 32k."},
		{"The dog is called Rex.", "We renamed the cat to Bruno."},
		{"Kenji is a master.", "We renamed master to main."},
		{"The dog is brown.", "We renamed the dog to Bruno."},
		{"Alice is in Paris.", "We renamed the dog to Alice."},
		{"The frontend runs on Vercel.", "We rewrote the frontend in React."},
		{"The backend is written in Go.", "We rewrote the frontend in React."},
		{"Billing is on Postgres.", "Search was migrated from Postgres to Elastic."},
		{"The meeting with Acme is on Friday.", "The meeting with Globex was moved to Monday."},
		{"Ella is in the choir.", "Ella moved to Hamburg."},
		{"Ella is in Class 3b.", "Ella moved to Hamburg."},
		{"Tom is on call.", "Tom moved to the data team."},
		{"Tom is in the hospital.", "Tom moved to the data team."},
		{"The server is in maintenance.", "The server moved to Frankfurt."},
		{"The server is in maintenance.", "The server moved to the basement."},
		{"The price is 15 euros.", "We raised the price of gold to 20 euros."},
		{"The limit is 100 requests.", "We raised the limit to 5 MB."},
		{"Anna has a Golf membership.", "Anna sold her Golf."},
		{"We use Slack Connect for clients.", "We switched from Slack to Zulip."},
		{"The user has a cat.", "The user dropped the cat off at the vet."},
		{"Sam owns a car.", "Sam sold his car's radio."},
		{"Our API is in beta.", "Our API moved to version 2."},
		{"The kids are in bed by 8.", "The kids moved to the attic."},
		{"The plan is 20 euros a month.", "The plan changed to yearly billing."},
		{"The logo is blue.", "The logo changed to the new font."},
		{"The deadline is Friday.", "We will move the deadline to Monday."},
		{"The deadline is Friday.", "Nobody moved the deadline to Monday."},
		{"The backup is at 2:00.", "The backup was cut to 30 minutes."},
		{"The export is limited to 500 rows.", "The export was moved to the reports page."},
		{"The office is in Berlin.", "The office party was moved to Hamburg."},
		{"Sam has three kids.", "Sam dropped three kids at school."},
		{"We use Jira.", "We changed Jira to dark mode."},
		{"The database is Postgres.", "We moved the database to Frankfurt."},
		{"The trial is 14 days.", "The trial was extended to 2027."},
		{"The password is swordfish.", "We changed the password policy to 12 characters."},
		{"Our host is Hetzner.", "The host changed to summer opening hours."},
		{"Payments run on Stripe.", "Payments were delayed to Monday."},
	} {
		if r, ok := mind.Read(c[1]).Replaces(c[0], mind.Relations{}); ok {
			t.Errorf("%q, then %q: %+v", c[0], c[1], r)
		}
	}
}
