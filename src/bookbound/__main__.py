from bookbound.wire import main

main()
