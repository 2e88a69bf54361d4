"""Kinds of files that lie on any company's drive beside the matter. Invariant: none rules on papers that govern.

Any kind comes in several forms, with some of its sentences and figures of the world's own (`shelf`).
"""

from typing import NamedTuple

WORDS = ("docx", "pdf", "md", "eml", "pptx")
TABLE = ("docx", "pdf", "md", "csv", "xlsx", "pptx")


class Noise(NamedTuple):
    """A kind of file. Without `columns` it is words, with them a table of `rows` (none: the people) and figures."""

    titles: tuple[str, ...]
    says: tuple[str, ...]
    columns: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()
    span: tuple[int, int] = (1, 40)  # of figures

    @property
    def forms(self) -> tuple[str, ...]:
        """Endings of the files it may be; a workbook adds up, which extensions and keys do not."""
        if not self.columns:
            return WORDS
        return TABLE if self.rows else tuple(form for form in TABLE if form != "xlsx")


_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
_MONTHS = ("January", "February", "March", "April", "May", "June")
_PLACES = ("Reception", "Canteen", "Post room", "Car pool", "Gardens", "Library", "Gym")
NOISE = (
    Noise(
        ("Petty cash", "Small expenses", "Cash box"),
        (
            "Petty cash pays for stamps, flowers and coffee.",
            "Hand in the receipt on the same day.",
            "The box is counted on the last Friday of a month.",
            "The box stands at reception.",
        ),
    ),
    Noise(
        ("Safety week", "Safety walk", "Round of the house"),
        (
            "Two reports of loose cables were closed.",
            "The stairs on the north side have new lights.",
            "Please wear the helmet on the scaffold.",
            "The next walk starts at the gate.",
        ),
    ),
    Noise(
        ("Canteen news", "Lunch", "From the kitchen"),
        (
            "The canteen offers a second soup from next week.",
            "Trays go back to the belt.",
            "Fish is on Friday as ever.",
            "Tell the kitchen about allergies.",
        ),
    ),
    Noise(
        ("Parking", "Where to park", "Car park"),
        (
            "The north side is for visitors until the works end.",
            "Bicycles go to the shed behind the hall.",
            "The barrier opens with the badge.",
            "Two charging posts are new.",
        ),
    ),
    Noise(
        ("Apprentices", "New faces", "Welcome"),
        (
            "Four apprentices start in September.",
            "Mentors are named.",
            "There is a tour of the house on the first day.",
            "Bring your badge photo.",
        ),
    ),
    Noise(
        ("Move of the second floor", "Moving boxes", "New desks"),
        (
            "Boxes stand in the corridor.",
            "Label each box with your room.",
            "Screens are carried by the service desk.",
            "Plants travel in the lift.",
        ),
    ),
    Noise(
        ("Lost property", "Found things", "Umbrellas"),
        (
            "Three umbrellas wait at reception.",
            "A blue scarf was found in the lift.",
            "What nobody fetches goes to charity.",
            "Somebody misses a bicycle pump.",
        ),
    ),
    Noise(
        ("Library", "New books", "Reading corner"),
        (
            "The shelf has new travel guides.",
            "Take a book and leave a book.",
            "The reading lamp is mended.",
            "Cook books are the favourites.",
        ),
    ),
    Noise(
        ("Gardens", "Green corner", "Plants"),
        (
            "The lawn is left long for the bees.",
            "Water the plants on your floor.",
            "Herbs on the terrace are for all.",
            "The gardener comes on Tuesdays.",
        ),
    ),
    Noise(
        ("Summer fair", "Fair", "Open house"),
        (
            "We thank all who brought cakes.",
            "The hall was full until late.",
            "There is parking behind the hall.",
            "The brass band plays again.",
        ),
    ),
    Noise(
        ("Telephone exchange", "Switchboard", "Telephones"),
        (
            "The switchboard is new and rings a little longer.",
            "Please bear with us.",
            "Dial nine for the porter.",
            "Headsets can be had at the service desk.",
        ),
    ),
    Noise(
        ("Printers", "Printer", "Printing"),
        (
            "The printer on floor 2 is repaired.",
            "Please send no more tickets about it.",
            "Toner is in the cupboard.",
            "Colour is out on floor 4.",
        ),
    ),
    Noise(
        ("Document store", "Maintenance on Saturday", "Store is read-only"),
        (
            "The store is read-only on Saturday from 06:00 to 10:00.",
            "Please save open files before you leave on Friday.",
            "Links do not change.",
            "Restart your machine on Monday.",
        ),
    ),
    Noise(
        ("Phishing exercise", "Test message", "Suspicious mail"),
        (
            "Most of you spotted the test message.",
            "Use the button, do not forward it.",
            "Thank you for reporting.",
            "The next exercise comes without a word.",
        ),
    ),
    Noise(
        ("Badge readers", "New readers", "Doors"),
        (
            "The readers on floor 3 ask for the badge and the code.",
            "Codes are in the staff portal.",
            "The side door is locked at eight.",
            "Guests are met at the gate.",
        ),
    ),
    Noise(
        ("Filing on this drive", "Folders", "Housekeeping"),
        (
            "Name folders in lower case.",
            "Photos and videos go to the media library.",
            "Empty the recycle bin at the end of a month.",
            "Ask the service desk before a disk is full.",
        ),
    ),
    Noise(
        ("Room for Thursday", "Large room", "Meeting room"),
        (
            "Is the large room free on Thursday at ten?",
            "We are eight and need the screen.",
            "Coffee would be welcome.",
            "The small one would do as well.",
        ),
    ),
    Noise(
        ("Coffee machine", "Coffee", "Tea kitchen"),
        (
            "The machine wants cleaning on Mondays.",
            "Beans are in the top drawer.",
            "Please put cups into the dishwasher.",
            "Oat milk is back.",
        ),
    ),
    Noise(
        ("Heating", "Warm offices", "Radiators"),
        (
            "Radiators on floor 1 were bled.",
            "Open windows wide and briefly.",
            "Tell the porter about cold rooms.",
            "The boiler is swept in May.",
        ),
    ),
    Noise(
        ("Choir", "Running group", "After work"),
        (
            "We meet on Wednesdays at six.",
            "All are welcome, no test.",
            "Bring water and good shoes.",
            "The winter party wants a song.",
        ),
    ),
    Noise(
        ("Window cleaning", "Cleaning days", "Clean desks"),
        (
            "Please clear the sills.",
            "Cleaners start on the top floor.",
            "Blinds are taken down and washed.",
            "Desks are wiped on Thursdays.",
        ),
    ),
    Noise(
        ("Health day", "Eye test", "Back care"),
        (
            "Book a slot at the desk on floor 1.",
            "The nurse brings the chart.",
            "Chairs are set to your height.",
            "Fruit is free all day.",
        ),
    ),
    Noise(
        ("Lift", "Lift works", "Stairs"),
        (
            "The goods lift stands still on Tuesday.",
            "Use the stairs at the back.",
            "Technicians have the cellar key.",
            "We are sorry for the noise.",
        ),
    ),
    Noise(
        ("House budget", "Small budgets", "Upkeep"),
        ("In thousands.", "Nothing is open.", "Figures are rounded."),
        ("Place", "First half", "Second half"),
        _PLACES,
        (10, 90),
    ),
    Noise(
        ("House staff", "Hands in the house", "Helpers"),
        ("Helpers are counted once.", "Students are in it."),
        ("Place", "Helpers", "Guests a day"),
        _PLACES,
        (1, 30),
    ),
    Noise(
        ("Telephone list", "Directory", "Extensions"),
        ("Dial the four digits.", "Ask the porter for outside lines."),
        ("Name", "Extension"),
        (),
        (4100, 4890),
    ),
    Noise(
        ("Key list", "Keys", "Lockers"),
        ("Lost keys go to the porter.", "Spare keys hang in the lodge."),
        ("Name", "Key", "Locker"),
        (),
        (101, 390),
    ),
    Noise(
        ("Desk plan", "Seating", "Who sits where"),
        ("Desks by the window are warm.", "Swap as you like."),
        ("Name", "Room", "Desk"),
        (),
        (1, 60),
    ),
    Noise(
        ("Room bookings", "Rooms this week", "Room plan"),
        ("Please leave rooms as you found them.", "Chairs are in the cellar."),
        ("Day", "Oak", "Elm", "Ash"),
        _DAYS,
        (2, 14),
    ),
    Noise(
        ("Lunch guests", "Meals served", "Canteen counts"),
        ("Soup counts as a meal.", "Fridays are quiet."),
        ("Day", "Soup", "Dish", "Salad"),
        _DAYS,
        (12, 95),
    ),
    Noise(
        ("Training places", "Courses", "Learning"),
        ("Enter your name at the portal.", "Places go by hand."),
        ("Course", "Places", "Taken"),
        ("Spreadsheets", "Writing", "First aid", "Speaking", "Typing"),
        (3, 20),
    ),
    Noise(
        ("Meter readings", "Water and power", "Meters"),
        ("Read on the first of a month.", "The old meter is gone."),
        ("Month", "Water", "Power"),
        _MONTHS,
        (110, 980),
    ),
    Noise(
        ("Car pool", "Trips", "Pool cars"),
        ("Fill up before you come back.", "The red car has new tyres."),
        ("Month", "Trips", "Kilometres"),
        _MONTHS,
        (10, 900),
    ),
    Noise(
        ("Kitchen supplies", "Kitchen cupboard", "Tea and sugar"),
        ("Empty tins go to the bin.", "Write down what you take."),
        ("Item", "In", "Out"),
        ("Tea", "Sugar", "Honey", "Biscuits", "Napkins"),
        (2, 60),
    ),
    Noise(
        ("Visitors", "Guest book", "Gate book"),
        ("Badges are handed back.", "Groups come on Thursdays."),
        ("Day", "Guests", "Groups"),
        _DAYS,
        (1, 48),
    ),
    Noise(
        ("Waste", "Bins", "Recycling"),
        ("Glass goes to the yard.", "Bins are emptied at six."),
        ("Month", "Mixed", "Paperboard"),
        _MONTHS,
        (20, 340),
    ),
)
